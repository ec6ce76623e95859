import json

import msgspec
import pytest

from trackside.wire.conversation import (
    has_images,
    has_type,
    may_have_images,
    read_items,
    read_role,
)

IMAGE = {"type": "image", "source": {}}


def raw(value):
    return msgspec.Raw(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("item", "role"),
    [
        pytest.param({"role": "user", "content": "Hi"}, "user", id="message"),
        pytest.param({"type": "message", "role": "developer"}, "developer", id="typed"),
        pytest.param({"type": "function_call_output"}, "tool", id="tool"),
        pytest.param({"type": "custom_tool_call_output"}, "tool", id="custom-tool"),
        pytest.param({"type": "function_call"}, "assistant", id="call"),
        pytest.param({"type": "reasoning"}, "assistant", id="reasoning"),
        pytest.param({"type": "item_reference", "id": "x"}, None, id="reference"),
        pytest.param({"type": "message"}, None, id="message-without-role"),
        pytest.param({"role": 7, "type": [1]}, None, id="odd"),
        pytest.param("Hi", None, id="text"),
        pytest.param(None, None, id="null"),
    ],
)
def test_who_speaks_is_read_from_roles_and_types(item, role):
    assert read_role(raw(item)) == role


def test_broken_text_hides_no_role():
    item = msgspec.Raw(b'{"role":"user","type":"\\ud83d","content":"\xff"}')
    assert read_role(item) == "user"


def test_only_a_list_has_items():
    assert read_items(raw([1, {"a": 2}])) == [raw(1), raw({"a": 2})]
    assert read_items(raw([])) == []
    assert read_items(raw({"a": 1})) is None
    assert read_items(msgspec.Raw(b"")) is None


def test_types_are_found_among_odd_items():
    items = [raw(7), raw("item_reference"), raw({"type": "item_reference"})]
    assert has_type(items, "item_reference")
    assert not has_type(items[:2], "item_reference")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param({"content": [{"type": "image_url"}]}, True, id="chat"),
        pytest.param({"content": [{"type": "input_image"}]}, True, id="responses"),
        pytest.param({"output": [{"type": "input_image"}]}, True, id="tool-output"),
        pytest.param({"content": [IMAGE]}, True, id="anthropic"),
        pytest.param(
            {"content": [{"type": "tool_result", "content": [IMAGE]}]},
            True,
            id="tool-result",
        ),
        pytest.param({"content": "Hi", "images": ["iVBO"]}, True, id="ollama"),
        pytest.param({"content": "Hi", "images": []}, False, id="ollama-none"),
        pytest.param({"content": '"image"'}, False, id="the-word"),
        pytest.param({"content": [7, "image", {"content": 7}]}, False, id="odd"),
        pytest.param(7, False, id="no-message"),
    ],
)
def test_images_are_found(message, expected):
    items = [raw({"content": "Hi"}), raw(message)]
    assert has_images(items) is expected
    if expected:
        assert may_have_images(b"[%s]" % bytes(items[1]))


def test_broken_text_hides_no_image():
    assert has_images([msgspec.Raw(b'{"content":[{"type":"image","x":"\\ud83d"}]}')])
