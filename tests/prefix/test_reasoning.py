from __future__ import annotations

import json
from typing import Any

import pytest

from trackside.prefix.causes.edits import name_edit
from trackside.prefix.dialects import DIALECTS
from trackside.prefix.reasoning import has_reasoning, without_reasoning


def said(**more: Any) -> dict[str, Any]:
    return {"role": "assistant", **more}


THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
TEXT = {"type": "text", "text": "Yes."}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        pytest.param(said(content="Yes.", reasoning_content="Hm."), True, id="chat"),
        pytest.param(said(content="Yes.", reasoning="Hm."), True, id="vllm"),
        pytest.param(said(content="Yes.", thinking="Hm."), True, id="ollama"),
        pytest.param(said(content=[THINKING, TEXT]), True, id="messages"),
        pytest.param({"type": "reasoning", "summary": []}, True, id="responses"),
        pytest.param(said(content="<think>Hm.</think>Yes."), True, id="in-the-text"),
        pytest.param(said(content="Yes."), False, id="none"),
        pytest.param(said(content=[TEXT]), False, id="no-thinking-part"),
        pytest.param(said(content="Yes.", reasoning_content=""), False, id="empty"),
        pytest.param("Hm.", False, id="no-message"),
    ],
)
def test_reasoning_is_found_wherever_it_is_sent_back(value: Any, told: bool) -> None:
    assert has_reasoning(value) is told
    assert not has_reasoning(without_reasoning(value)) or value == {
        "type": "reasoning",
        "summary": [],
    }


def test_reasoning_that_is_cut_out_of_the_text_is_dropped_reasoning() -> None:
    old = json.dumps(said(content="<think>Let me see.</think>\n\nYes.")).encode()
    new = json.dumps(said(content="Yes.")).encode()
    cause, path, _ = name_edit(old, new, "assistant", DIALECTS["chat"], lambda _: False)
    assert cause == ("history_edited", "reasoning_dropped")
    assert path == ".content"
