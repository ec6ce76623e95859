import pytest

from trackside.wire.errors import WireError
from trackside.wire.native import Frame, Frames, decode_frame
from trackside.wire.pieces import Content, End, Finish, Keepalive, Start


@pytest.mark.parametrize(
    "data",
    [b"[]", b"{}", b'{"content":"Hi"}', b'{"content":7,"stop":true}', b'{"stop":true}'],
)
def test_json_of_another_shape_is_no_frame(data):
    assert decode_frame(data) is None


def test_what_is_not_json_is_refused_in_words():
    with pytest.raises(WireError, match="wanted JSON"):
        decode_frame(b'{"content":"')


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        pytest.param(Frame(content="", stop=True, stop_type="word"), "word", id="word"),
        pytest.param(
            Frame(content="", stop=True, stopped_limit=True), "limit", id="old-limit"
        ),
        pytest.param(Frame(content="", stop=True), "eos", id="old-eos"),
    ],
)
def test_the_reason_is_told_in_old_and_new_builds(frame, reason):
    assert Frames().read(frame) == [Start("", "", 0), Finish(reason), End()]


def test_answers_side_by_side_are_told_apart():
    frames = Frames()
    first, second = Frame("<thi", False, 0), Frame("Hi", False, 1)
    assert frames.read(first) == [Start("", "", 0)]
    assert frames.read(second) == [Content("Hi", 1)]
    assert frames.release() == [Content("<thi")]


def test_a_frame_with_nothing_in_it_is_a_sign_of_life():
    frames = Frames()
    assert frames.read(Frame("", False)) == [Start("", "", 0), Keepalive("empty")]
