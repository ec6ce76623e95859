import pytest

from trackside.wire.leaves import (
    count_of,
    instant_of,
    is_number,
    list_of,
    object_of,
    text_of,
)

ODD = [None, True, 7, -7, 1.5, "7", [1], {"a": 1}]


@pytest.mark.parametrize(
    ("read", "kept", "otherwise"),
    [
        pytest.param(text_of, ["7"], "", id="text"),
        pytest.param(object_of, [{"a": 1}], {}, id="object"),
        pytest.param(list_of, [[1]], [], id="list"),
        pytest.param(count_of, [7], None, id="count"),
    ],
)
def test_what_is_of_another_kind_is_worth_nothing(read, kept, otherwise):
    for value in ODD:
        assert read(value) == (value if value in kept else otherwise)


def test_numbers_are_no_booleans():
    assert [value for value in ODD if is_number(value)] == [7, -7, 1.5]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(7, 7), (7.9, 7), (-1, 0), (2**60, 0), ("7", 0), (None, 0), (float("nan"), 0)],
)
def test_instants_are_seconds_or_none(value, seconds):
    assert instant_of(value) == seconds
