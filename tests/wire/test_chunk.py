import pytest

from trackside.wire.chunk import UNKNOWN, decode
from trackside.wire.errors import WireError

FRAME = b'{"choices":[{"delta":{"content":%s}}]}'


def content(data):
    return decode(data).choices[0].delta.content


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(b'"a"', "a", id="text"),
        pytest.param(b"null", None, id="null"),
        pytest.param(b'"\\ud83d\\ude00"', "😀", id="surrogate-pair"),
        pytest.param(b'"a\\ud83d"', "a?", id="half-a-pair"),
        pytest.param(b'"a\xff"', "a�", id="not-utf-8"),
        pytest.param(b'"a","x":NaN', "a", id="nan"),
        pytest.param(b'"a","x":[-Infinity]', "a", id="infinity"),
    ],
)
def test_what_engines_write_is_decoded(text, expected):
    assert content(FRAME % text) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"[1]",
        b'"x"',
        b"7",
        b'{"choices":7}',
        b'{"choices":[7]}',
        b'{"choices":{"a":1}}',
    ],
)
def test_json_of_another_shape_is_unknown(data):
    assert decode(data) is UNKNOWN


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b'{"choices":[', id="cut"),
        pytest.param(b"upstream timed out", id="words"),
        pytest.param(b"\x00\xff", id="bytes"),
        pytest.param(b'{"usage":' + b"[" * 200_000, id="deep"),
        pytest.param(b'{"unread":' + b"[" * 200_000, id="deep-and-unread"),
        pytest.param(b'{"x":NaN,"y":' + b"9" * 5000 + b"}", id="endless-number"),
    ],
)
def test_what_is_not_json_is_refused_in_words(data):
    with pytest.raises(WireError, match="wanted JSON"):
        decode(data)
