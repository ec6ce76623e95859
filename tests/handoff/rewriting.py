"""Phase 2 put through the rewriter, what comes out, and events to make it from."""

from handoff.judge import read_by_hand
from trackside.handoff.rewrite import Phase1, Rewriter
from trackside.handoff.usage import Counts
from trackside.wire.chat import Reader
from trackside.wire.pieces import Start
from wire.streams import DONE, chunk, delta, event

KEPT = "So it is Bob. So it is Bob.\n\nEnough."
START = Start("chatcmpl-1", "m", 1796041849)
COUNTS = Counts(prompt=10, completion=300, reasoning=300, cached=4)
BEFORE = chunk(delta(role="assistant", content=None)) + chunk(
    delta(reasoning_content="So it is Bob. ")
)
ECHO = f"<think>\n{KEPT}\n</think>\n\n"
TOOL = {"index": 0, "id": "c", "type": "function"}
ANSWER = [{"content": "It "}, {"content": "is "}, {"content": "Bob é"}]
TOLD = {"prompt_tokens": 40, "completion_tokens": 3, "total_tokens": 43}


def phase1(**more):
    known = {"start": START, "kept": KEPT, "kept_tokens": 12, "counts": COUNTS}
    return Phase1(**{**known, **more})


def rewritten(parts, **more):
    rewriter = Rewriter(phase1(**more))
    return b"".join(edits(rewriter, parts)) + rewriter.end()


def edits(rewriter, parts):
    reader = Reader()
    for part in parts:
        yield from map(rewriter.edit, reader.feed(part))
    yield from map(rewriter.edit, reader.flush())


def judged(body, *, start=START, usages=0):
    """Return the chunks of a rewritten body that says all there is to say, once."""
    chunks = read_by_hand(body)
    for told in chunks:
        assert (told["id"], told["model"]) == (start.id, start.model)
        assert (told["created"], told["object"]) == (
            start.created,
            "chat.completion.chunk",
        )
        assert len(told["choices"]) <= 1
        for choice in told["choices"]:
            assert choice["index"] == 0
            assert "role" not in choice["delta"]
    finishes = [c["choices"][0]["finish_reason"] for c in chunks if c["choices"]]
    assert finishes
    assert [bool(finish) for finish in finishes] == [False] * (len(finishes) - 1) + [
        True
    ]
    told = ["usage" in c or not c["choices"] for c in chunks]
    assert sum(told) <= usages
    assert not any(told[:-1])
    return chunks


def said(chunks, key="content"):
    deltas = [c["choices"][0]["delta"] for c in chunks if c["choices"]]
    return "".join(d[key] for d in deltas if isinstance(d.get(key), str))


def finish_of(chunks):
    return next(
        choice["finish_reason"]
        for c in chunks
        for choice in c["choices"]
        if choice["finish_reason"]
    )


EVENTS = {
    "role": chunk(delta(role="assistant", content="")),
    "null role": chunk(delta(role="assistant", content=None)),
    "content": chunk(delta(content="A\n")),
    "role and content": chunk(delta(role="assistant", content="B")),
    "held": chunk(delta(content="<thi")),
    "reasoning": chunk(delta(reasoning="C")),
    "both": chunk(delta(reasoning="D", content="E")),
    "named twice": chunk(delta(reasoning="F", reasoning_content="F")),
    "details": chunk(delta(reasoning_details=[{"text": "G"}])),
    "echo": chunk(delta(content=ECHO)),
    "echo as reasoning": chunk(delta(reasoning_content=KEPT)),
    "tool": chunk(delta(tool_calls=[{**TOOL, "function": {"name": "f"}}])),
    "arguments": chunk(delta(tool_calls=[{**TOOL, "function": {"arguments": "{"}}])),
    "finish": chunk(delta(finish="stop")),
    "finish with text": chunk(delta(content="H", finish="length")),
    "tool finish": chunk(delta(finish="tool_calls")),
    "odd finish": chunk(delta(finish={"a": 1})),
    "usage": chunk(usage=TOLD),
    "running usage": chunk(delta(content="I"), usage=TOLD),
    "usage on the finish": chunk(delta(finish="stop"), usage=TOLD),
    "odd usage": chunk(delta(content="J"), usage=[5]),
    "timings": chunk(delta(content="K"), timings={"predicted_n": 3, "x": "y"}),
    "text": event({"choices": [{"text": "L", "index": 0}]}),
    "null text": event({"choices": [{"text": None, "index": 0}]}),
    "null delta": event({"choices": [{"index": 0, "delta": None}]}),
    "odd delta": event({"choices": [{"index": 0, "delta": "M"}]}),
    "odd content": chunk(delta(content={"a": 1})),
    "list content": chunk(delta(content=[{"text": "N"}])),
    "another choice": chunk(delta(1, content="O")),
    "end of another": chunk(delta(1, finish="stop")),
    "two choices": chunk(delta(1, content="P"), delta(0, content="Q")),
    "no choices": event({"id": "x"}),
    "odd choices": event({"choices": 5, "error": None}),
    "odd error": event(
        {"choices": [{"delta": 5, "finish_reason": "stop"}], "error": "x"}
    ),
    "comment": b": keep-alive\n\n",
    "made up": event(
        {
            "id": "chatcmpl-keepalive",
            "created": 0,
            "model": "keepalive",
            "choices": [delta(role="assistant", content="")],
        }
    ),
    "progress": chunk(
        delta(role="assistant", content=None), prompt_progress={"total": 5}
    ),
    "error": event({"error": {"message": "out of memory", "code": 500}}),
    "named error": b'event: error\ndata: {"error":"gone"}\n\n',
    "no JSON": b"data: oops\n\n",
    "a list": b"data: []\n\n",
    "half": b'data: {"choices":[{"del',
    "page": b"<html>\n\n",
    "no data": b"event: sglext_ids\n\nid: 7\n\nretry: 5\n\n",
    "two lines": b'data: {"choices":[{"index":0,\ndata: "delta":{"content":"R"}}]}\n\n',
    "CR": b'data: {"choices":[{"index":0,"delta":{"content":"S"}}]}\r\r',
    "blank": b"\n\r\n\n",
    "half an emoji": b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n',
    "nan": b'data: {"choices":[{"delta":{"content":"T"},"logprobs":NaN}]}\n\n',
    "done": DONE,
}
