import pytest

from trackside.wire.output import Output
from trackside.wire.pieces import Content, Reasoning, ToolCall

CALL = {"type": "function_call", "id": "i", "call_id": "c", "name": "f"}


def test_a_call_is_told_once_under_whatever_name_it_comes():
    output = Output()
    assert output.open_item(4, CALL) == [ToolCall(0, "c", "f", "")]
    assert output.add_arguments((4, "wrong"), "{") == [ToolCall(0, None, None, "{")]
    assert output.add_arguments((None, "i"), "}") == [ToolCall(0, None, None, "}")]
    assert output.close_item(None, {**CALL, "arguments": "{}"}) == []


def test_arguments_that_come_only_at_the_end_are_told_there():
    output = Output()
    output.open_item(0, CALL)
    done = output.close_item(0, {**CALL, "arguments": "{}"})
    assert done == [ToolCall(0, None, None, "{}")]
    assert output.close_item(0, {**CALL, "arguments": "{}"}) == []


def test_calls_side_by_side_are_told_apart():
    output = Output()
    output.open_item(0, CALL)
    output.open_item(1, {**CALL, "id": "i2", "call_id": "c2"})
    assert output.add_arguments((0, "i"), "a") == [ToolCall(0, None, None, "a")]
    assert output.add_arguments((1, "i2"), "b") == [ToolCall(1, None, None, "b")]


def test_arguments_without_a_call_make_one():
    assert Output().add_arguments((None, None), "{") == [ToolCall(0, None, None, "{")]


@pytest.mark.parametrize(
    "kind", ["local_shell_call", "shell_call", "apply_patch_call", "computer_call"]
)
def test_calls_without_a_name_go_by_their_type(kind):
    item = {"type": kind, "call_id": "c"}
    assert Output().open_item(0, item) == [ToolCall(0, "c", kind, "")]


@pytest.mark.parametrize("kind", ["web_search_call", "mcp_call", "reasoning", None])
def test_what_the_engine_runs_itself_is_no_call(kind):
    output = Output()
    assert output.open_item(0, {"type": kind, "name": "f", "arguments": "{}"}) == []
    assert output.close_item(0, {"type": kind, "name": "f", "arguments": "{}"}) == []
    assert not output.has_told


def test_text_held_back_comes_before_what_follows():
    output = Output()
    assert output.add_text((0,), "<thin") == []
    assert output.add_reasoning((1,), Reasoning("Hm", "reasoning_text")) == [
        Content("<thin"),
        Reasoning("Hm", "reasoning_text"),
    ]
    assert output.release() == []
