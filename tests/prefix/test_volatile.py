from __future__ import annotations

import pytest

from trackside.prefix.volatile import find_stamp

LONG = "Words that stay as they are. " * 60


@pytest.mark.parametrize(
    ("old", "new", "kind", "resolution"),
    [
        pytest.param(
            "at 2026-11-30T13:29:17.120Z",
            "at 2026-11-30T13:29:18.004Z",
            "clock",
            "subsecond",
            id="iso",
        ),
        pytest.param(
            "Current date and time: Monday, November 30, 2026 at 06:00:31 PM PDT",
            "Current date and time: Monday, November 30, 2026 at 06:00:47 PM PDT",
            "clock",
            "second",
            id="words",
        ),
        pytest.param(
            "Mon 2026-11-30 23:59 UTC",
            "Tue 2026-12-01 00:00 UTC",
            "clock",
            "minute",
            id="midnight",
        ),
        pytest.param("now=1796041926", "now=1796041931", "clock", "second", id="epoch"),
        pytest.param(
            "It is 9:59 and ~10k tokens remain",
            "It is 10:01 and ~12k tokens remain",
            "clock",
            "minute",
            id="clock-and-counter",
        ),
        pytest.param(
            "Today is Monday, November 30, 2026.",
            "Today is Tuesday, December 1, 2026.",
            "date",
            "",
            id="date",
        ),
        pytest.param("cch=12345;", "cch=98765;", "nonce", "", id="nonce"),
        pytest.param("turn 7 of 99", "turn 8 of 99", "counter", "", id="counter"),
    ],
)
def test_stamps_are_told_by_kind(
    old: str, new: str, kind: str, resolution: str
) -> None:
    for text in ("{}", LONG + "{} " + LONG):
        stamp = find_stamp(text.format(old), text.format(new))
        assert stamp is not None
        assert (stamp.kind, stamp.resolution) == (kind, resolution)
        assert stamp.old in old
        assert stamp.new in new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("same", "same", id="equal"),
        pytest.param("read the file", "write the file", id="words"),
        pytest.param("at 12:00 read it", "at 12:01 write it", id="clock-and-words"),
        pytest.param("likes tea", "", id="gone"),
        pytest.param(
            " ".join(str(n) for n in range(1000, 1090)),
            " ".join(str(n) for n in range(2000, 2090)),
            id="all-of-it",
        ),
    ],
)
def test_other_changes_are_no_stamps(old: str, new: str) -> None:
    assert find_stamp(old, new) is None


@pytest.mark.parametrize(
    "text", ["a" * 300_000, "a1" * 150_000, "1:1:" * 90_000, "- " * 150_000]
)
def test_hostile_texts_are_done_with(text: str) -> None:
    stamp = find_stamp(text + " at 12:00", text + " at 12:01")
    assert stamp is None or stamp.kind == "clock"
