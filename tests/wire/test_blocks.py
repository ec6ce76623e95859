from trackside.wire.blocks import Blocks
from trackside.wire.pieces import Content, Reasoning, ToolCall

CALL = {"type": "tool_use", "id": "t", "name": "f"}


def test_calls_are_numbered_among_themselves():
    blocks = Blocks()
    blocks.open(0, {"type": "text", "text": "Hi"})
    assert blocks.open(1, CALL) == [ToolCall(0, "t", "f", "")]
    assert blocks.open(3, CALL) == [ToolCall(1, "t", "f", "")]
    assert blocks.add_input(1, "{") == [ToolCall(0, None, None, "{")]
    assert blocks.add_input(3, "}") == [ToolCall(1, None, None, "}")]


def test_an_input_told_at_the_start_counts_only_if_none_is_streamed():
    blocks = Blocks()
    blocks.open(0, {**CALL, "input": {"a": 1}})
    assert blocks.close(0) == [ToolCall(0, None, None, '{"a":1}')]
    assert blocks.close(0) == []
    blocks.open(1, {**CALL, "input": {"a": 1}})
    assert blocks.add_input(1, "{}") == [ToolCall(1, None, None, "{}")]
    assert blocks.close(1) == []


def test_text_held_back_comes_before_what_follows():
    blocks = Blocks()
    assert blocks.add_text("<thin") == []
    assert blocks.add_thinking("Hm") == [
        Content("<thin"),
        Reasoning("Hm", "thinking"),
    ]
    assert blocks.release() == []
