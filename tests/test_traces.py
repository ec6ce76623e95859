"""Saved reasoning, whatever file it is in."""

import json
import lzma

import pytest
from mitmproxy import io
from mitmproxy.test import tflow

from traces import Trace, read


def event(delta):
    chunk = {"choices": [{"index": 0, "delta": delta}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


SSE = event({"reasoning_content": "I thi"}) + event({"reasoning_content": "nk."})
SSE += event({"content": "Yes."}) + b"data: [DONE]\n\n"


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        pytest.param("a.txt", "Hé".encode(), ["Hé"], id="text"),
        pytest.param("a.txt", b"\xff", ["\ufffd"], id="not-utf8"),
        pytest.param("a.txt.xz", lzma.compress(b"x"), ["x"], id="xz"),
        pytest.param("a.sse", SSE, ["I think."], id="sse"),
        pytest.param("a.body", event({"content": "Yes."}), ["Yes."], id="content"),
        pytest.param("a.jsonl", b'{"id":1,"text":"x"}\n', ["x"], id="jsonl"),
        pytest.param("a.txt", b"", [""], id="empty"),
    ],
)
def test_files(tmp_path, name, content, texts):
    path = tmp_path / name
    path.write_bytes(content)
    assert [trace.text for trace in read(path)] == texts


def test_jsonl_may_be_told(tmp_path):
    path = tmp_path / "rows"
    path.write_bytes(b'{"id":"a","text":"x"}\n\n{"id":"b","text":"y"}')
    assert list(read(path, jsonl=True)) == [Trace("a", "x"), Trace("b", "y")]


def test_a_capture_gives_the_reasoning_of_each_answer(tmp_path):
    path = tmp_path / "a.flow"
    streamed, whole, other = (tflow.tflow(resp=True) for _ in range(3))
    streamed.request.path = whole.request.path = "/v1/chat/completions"
    streamed.response.content = SSE
    message = {"reasoning": "Hm.", "content": "No."}
    whole.response.headers["content-type"] = "application/json"
    whole.response.content = json.dumps({"choices": [{"message": message}]}).encode()
    with path.open("wb") as file:
        writer = io.FlowWriter(file)
        for flow in (streamed, other, whole):
            writer.add(flow)
    assert [trace.text for trace in read(path)] == ["I think.", "Hm."]
