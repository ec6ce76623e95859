import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.wire import ndjson
from trackside.wire.ndjson import Decoder
from trackside.wire.sse import Event
from wire.streams import all_cuts, cut, cuts, run

STREAM = b'{"a":1}\n\n \r\n{"b":"\xc3\xa9"}\r\n{"c"'
EVENTS = [
    Event(b'{"a":1}\n', b'{"a":1}'),
    Event(b"\n", None),
    Event(b" \r\n", None),
    Event(b'{"b":"\xc3\xa9"}\r\n', b'{"b":"\xc3\xa9"}'),
    Event(b'{"c"', b'{"c"'),
]


def test_cuts_do_not_matter():
    for parts in all_cuts(STREAM):
        decoder = Decoder()
        assert run(decoder.feed, parts) + decoder.flush() == EVENTS


@given(st.binary(max_size=60), st.data())
def test_garbage_comes_out_as_it_went_in(stream, data):
    decoder, cut_decoder = Decoder(), Decoder()
    events = decoder.feed(stream) + decoder.flush()
    parts = cut(stream, data.draw(cuts(len(stream))))
    assert run(cut_decoder.feed, parts) + cut_decoder.flush() == events
    assert b"".join(event.raw for event in events) == stream


def test_what_is_held_is_counted():
    decoder = Decoder()
    assert decoder.feed(b'{"a"') == []
    assert decoder.held == 4
    assert decoder.feed(b":1}\n{") == [Event(b'{"a":1}\n', b'{"a":1}')]
    assert decoder.held == 1
    decoder.flush()
    assert (decoder.held, decoder.flush()) == (0, [])


@pytest.mark.parametrize("size", [7, 100, 1000])
def test_a_line_too_long_is_passed_on_in_parts_without_data(monkeypatch, size):
    monkeypatch.setattr(ndjson, "MAX_LINE_BYTES", 20)
    stream = b"1\n" + b"x" * 90 + b"\n2\n" + b"y" * 45
    decoder = Decoder()
    events = run(decoder.feed, cut(stream, range(0, len(stream), size)))
    assert decoder.held <= 20
    events += decoder.flush()
    assert b"".join(event.raw for event in events) == stream
    assert [event.data for event in events if event.data] == [b"1", b"2"]


def test_memory_is_bounded_by_the_longest_line(monkeypatch):
    monkeypatch.setattr(ndjson, "MAX_LINE_BYTES", 100_000)
    decoder, chunk = Decoder(), b"x" * 10_000
    tracemalloc.start()
    for _ in range(200):
        decoder.feed(chunk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500_000
