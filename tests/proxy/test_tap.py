"""The tap alone: what it forwards, whatever happens around it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy import http
from mitmproxy.test import tflow

from scripted import chunk, stream
from trackside.proxy.tap import (
    Tap,
    keep_body,
    read_by,
    stream_unbounded,
    streams,
    tap_of,
)
from trackside.wire.chat import Message, Reader

BODY = b"".join(stream(["Let me ", "think."], ["It is ", "blue."]))


class Notes:
    """Keeps what it is shown; raises at the message numbered `fails_at`."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.raws: list[bytes] = []
        self.fails_at = fails_at

    def see(self, messages: Sequence[Message], at_s: float) -> None:
        for message in messages:
            if len(self.raws) == self.fails_at:
                raise RuntimeError("a bug in an observer")
            self.raws.append(message.raw)


class Bad(Reader):
    """Fails on the second chunk."""

    calls = 0

    def feed(self, chunk: bytes) -> list[Message]:
        self.calls += 1
        if self.calls == 2:
            raise RuntimeError("a bug in a reader")
        return super().feed(chunk)


def run(tap: Tap, chunks: Sequence[bytes]) -> bytes:
    """Feed chunks and the end; nothing that is forwarded may be empty."""
    out = [part for piece in [*chunks, b""] for part in tap(piece)]
    assert all(out)
    return b"".join(out)


def cut(body: bytes, at: Sequence[int]) -> list[bytes]:
    edges = [0, *sorted(at), len(body)]
    return [body[a:b] for a, b in pairwise(edges) if b > a]


cuts = st.lists(st.integers(0, len(BODY)), max_size=12)


@given(cuts)
def test_bytes_are_forwarded_as_they_come(at: list[int]) -> None:
    tap, notes = Tap(Reader()), Notes()
    tap.observers.append(notes)
    chunks = cut(BODY, at)
    out = [tap(piece) for piece in chunks]
    assert out == [[piece] for piece in chunks]
    assert tap(b"") == []
    assert b"".join(notes.raws) == BODY == tap.body


@given(cuts)
def test_edits_see_whole_messages(at: list[int]) -> None:
    tap = Tap(Reader(), lambda message: message.raw.upper())
    assert run(tap, cut(BODY, at)) == BODY.upper()


@given(cuts, st.integers(0, 6))
def test_a_failing_observer_costs_nothing(at: list[int], fails_at: int) -> None:
    tap, notes = Tap(Reader()), Notes()
    tap.observers += [Notes(fails_at), notes]
    assert run(tap, cut(BODY, at)) == BODY
    assert b"".join(notes.raws) == BODY


@given(cuts)
def test_a_failing_edit_passes_the_rest_through(at: list[int]) -> None:
    def edit(message: Message) -> bytes:
        if b"It is" in message.raw:
            raise RuntimeError("a bug in an edit")
        return message.raw

    assert run(Tap(Reader(), edit), cut(BODY, at)) == BODY


@pytest.mark.parametrize(
    "edit", [None, lambda message: message.raw], ids=["raw", "edit"]
)
def test_a_failing_reader_passes_the_rest_through(edit: Any) -> None:
    assert run(Tap(Bad(), edit), cut(BODY, [30, 90, 200])) == BODY


def test_half_an_event_is_not_sent_on_at_a_handoff() -> None:
    tap = Tap(Reader())

    class HandsOff:
        def see(self, messages: Sequence[Message], at_s: float) -> None:
            tap.handoff = object()  # type: ignore[assignment] # only that there is one

    tap.observers.append(HandsOff())
    first, second = chunk({"content": "a"}), chunk({"content": "b"})
    assert tap(first[:9]) == [first[:9]]
    assert tap(first[9:] + second[:30]) == [first[9:]]


def test_half_an_event_at_the_end_is_forwarded() -> None:
    half = BODY[: len(BODY) - 3]
    assert run(Tap(Reader(), lambda message: message.raw), [half]) == half


def flow_with(**headers: str) -> http.HTTPFlow:
    flow = tflow.tflow(resp=True)
    assert flow.response
    flow.response.headers.clear()
    for name, value in headers.items():
        flow.response.headers[name.replace("_", "-")] = value
    flow.live = True
    return flow


def test_streams_of_unknown_length_are_never_buffered() -> None:
    flow = flow_with(content_type="application/x-ndjson")
    stream_unbounded(flow)
    tap = tap_of(flow)
    assert tap
    assert run(tap, [b"one\n", b"two\n"]) == b"one\ntwo\n"
    keep_body(flow)
    assert flow.response
    assert flow.response.raw_content == b"one\ntwo\n"


@pytest.mark.parametrize(
    ("headers", "live"),
    [
        pytest.param({"content_length": "9"}, True, id="known length"),
        pytest.param({}, False, id="from a file"),
    ],
)
def test_other_responses_are_left_alone(headers: dict[str, str], live: bool) -> None:
    flow = flow_with(**headers)
    flow.live = live
    stream_unbounded(flow)
    assert tap_of(flow) is None


@pytest.mark.parametrize(
    ("kind", "status", "is_stream"),
    [
        pytest.param("text/event-stream; charset=utf-8", 200, True, id="sse"),
        pytest.param("application/json", 200, False, id="json"),
        pytest.param("text/event-stream", 500, False, id="an error"),
    ],
)
def test_event_streams_are_told_by_their_type(
    kind: str, status: int, is_stream: bool
) -> None:
    flow = flow_with(content_type=kind)
    assert flow.response
    flow.response.status_code = status
    assert streams(flow.response, "sse") is is_stream


def test_a_tap_that_only_unbuffered_learns_to_read() -> None:
    flow = tflow.tflow(resp=True)
    assert flow.response
    flow.response.stream = first = Tap(None)
    assert read_by(flow, Reader) is first
    reader = first.reader
    assert isinstance(reader, Reader)
    assert read_by(flow, Reader).reader is reader


def test_first_byte_and_pace_are_noted() -> None:
    tap = Tap(Reader())
    assert tap.first_byte_s is None
    run(tap, cut(BODY, [30, 90]))
    assert tap.first_byte_s is not None
    told = tap.pace.since(tap.first_byte_s)
    assert [size for _, size in told] == [30, 60, len(BODY) - 90]
