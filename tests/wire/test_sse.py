import httpx
import httpx_sse
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trackside.wire import sse
from trackside.wire.sse import Decoder, Event
from wire.streams import all_cuts, cut, cuts, run

LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
LINES = st.one_of(
    st.sampled_from(["", "", "data", "data:", "data: ", ": hi", "event: e", "junk: 1"]),
    st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=8).map(
        "data: {}".format
    ),
)
STREAMS = st.lists(st.tuples(LINES, LINE_ENDS).map("".join), max_size=20).map("".join)


def read(parts):
    decoder = Decoder()
    return run(decoder.feed, parts) + decoder.flush()


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        pytest.param(b"data: 1\n\n", [("", b"1")], id="lf"),
        pytest.param(b"data: 1\r\n\r\n", [("", b"1")], id="crlf"),
        pytest.param(b"data: 1\r\r", [("", b"1")], id="cr"),
        pytest.param(b"data: 1\r\r\n", [("", b"1"), ("", None)], id="cr-then-crlf"),
        pytest.param(b"data: 1\n\rdata: 2\n\n", [("", b"1"), ("", b"2")], id="lf-cr"),
        pytest.param(b"data: 1\r\n\ndata: 2\n\r\n", [("", b"1"), ("", b"2")], id="mix"),
        pytest.param(b"data:1\n\n", [("", b"1")], id="no-space"),
        pytest.param(b"data:  1 \n\n", [("", b" 1 ")], id="one-space-goes"),
        pytest.param(b"data\n\n", [("", b"")], id="field-without-colon"),
        pytest.param(b"data: 1\ndata: 2\n\n", [("", b"1\n2")], id="two-data-lines"),
        pytest.param(b"data: 1\ndata: 2\r\n\r\n", [("", b"1\n2")], id="two-ends-mixed"),
        pytest.param(b"event: e\ndata: 1\n\n", [("e", b"1")], id="named"),
        pytest.param(
            b"event: e\ndata: 1\ndata: 2\n\n", [("e", b"1\n2")], id="named-two-lines"
        ),
        pytest.param(b"event: e\ndata: 1\nid: 7\n\n", [("e", b"1")], id="named-id"),
        pytest.param(b"event: e\nid: 7\ndata: 1\n\n", [("e", b"1")], id="id-between"),
        pytest.param(b"event:  e\ndata:  1\n\n", [(" e", b" 1")], id="two-spaces"),
        pytest.param(b"event: \ndata: \n\n", [("", b"")], id="empty-name-and-data"),
        pytest.param(b"event: data: 1\n\n", [("data: 1", None)], id="name-alone"),
        pytest.param(b"event: \xff\ndata: 1\n\n", [("�", b"1")], id="name-not-utf-8"),
        pytest.param(b": hi\n\n", [("", None)], id="comment"),
        pytest.param(b": hi\ndata: 1\n\n", [("", b"1")], id="comment-before-data"),
        pytest.param(b"id: 7\nretry: 9\n\n", [("", None)], id="id-and-retry"),
        pytest.param(b"\xef\xbb\xbfdata: 1\n\n", [("", b"1")], id="bom"),
        pytest.param(b":\n\n\xef\xbb\xbfdata: 1\n\n", [("", None)] * 2, id="late-bom"),
        pytest.param(b"\ndata: 1\n\n", [("", b"1")], id="blank-line-first"),
        pytest.param(b"data: 1\n\n\n\n", [("", b"1"), ("", None)], id="blank-lines"),
        pytest.param(b"data: 1\n", [("", b"1")], id="cut-before-blank-line"),
        pytest.param(b"data: 1", [("", b"1")], id="cut-in-line"),
        pytest.param(b"data: 1\n\r", [("", b"1")], id="cut-in-crlf"),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_events_are_the_same_however_the_stream_is_cut(stream, events):
    for parts in all_cuts(stream):
        found = read(parts)
        assert [(event.name, event.data) for event in found] == events
        assert b"".join(event.raw for event in found) == stream


@given(STREAMS.map(str.encode), st.data())
@example(b"\n\r\r\r\n\n\r\n", None)
def test_cuts_do_not_matter(stream, data):
    whole = read([stream])
    assert b"".join(event.raw for event in whole) == stream
    assert read(cut(stream, range(len(stream)))) == whole
    if data:
        assert read(cut(stream, data.draw(cuts(len(stream))))) == whole


@given(st.binary(max_size=60), st.data())
def test_garbage_comes_out_as_it_went_in(stream, data):
    parts = cut(stream, data.draw(cuts(len(stream))))
    assert b"".join(event.raw for event in read(parts)) == stream


@given(STREAMS)
def test_httpx_sse_reads_the_same_events(stream):
    stream += ":"  # both sides now know whether a CR at the end stood alone
    response = httpx.Response(
        200, headers={"Content-Type": "text/event-stream"}, content=stream.encode()
    )
    source = httpx_sse.EventSource(response)
    assert [(event.event, event.data) for event in source.iter_sse()] == [
        (event.name or "message", (event.data or b"").decode())
        for event in Decoder().feed(stream.encode())
        if event.name or event.data is not None  # httpx-sse gives a bare name too
    ]


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_an_event_comes_out_with_its_last_byte(end):
    decoder = Decoder()
    stream = b"data: 1" + end
    assert run(decoder.feed, cut(stream[:-1], range(len(stream)))) == []
    assert decoder.held == len(stream) - 1
    assert decoder.feed(end[-1:]) == [Event(stream, b"1")]
    assert decoder.held == 0


def test_many_events_of_one_chunk_come_out_in_order():
    stream = b"".join(b"data: %d\n\n" % n for n in range(5000))
    events = Decoder().feed(stream)
    assert [int(event.data) for event in events] == list(range(5000))


def test_flush_gives_what_was_held_once():
    decoder = Decoder()
    decoder.feed(b"data: 1")
    assert decoder.flush() == [Event(b"data: 1", b"1")]
    assert decoder.flush() == []
    assert decoder.feed(b"data: 2\n\n") == [Event(b"data: 2\n\n", b"2")]


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_an_endless_event_is_passed_on_without_data(monkeypatch, end):
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 20)
    stream = b"data: " + b"x" * 50 + end + b"data: 1" + end
    for parts in all_cuts(stream):
        decoder = Decoder()
        events = []
        for part in parts:
            events += decoder.feed(part)
            assert decoder.held <= 20
        assert b"".join(event.raw for event in events) == stream
        assert {event.data for event in events[:-1]} == {None}
        assert events[-1] == Event(b"data: 1" + end, b"1")


class CountingBytes(bytearray):
    """Counts the bytes that searches look at."""

    looked_at = 0

    def find(self, sub, start=0, *rest):
        self.looked_at += len(self) - start
        return super().find(sub, start, *rest)


def test_a_long_event_in_short_chunks_is_not_searched_again_and_again():
    decoder = Decoder()
    decoder._buffer = CountingBytes()
    for _ in range(10_000):
        decoder.feed(b"x")
    assert decoder._buffer.looked_at < 40_000
