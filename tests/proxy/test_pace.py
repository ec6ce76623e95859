"""When how much of a response went to the client."""

from __future__ import annotations

from trackside.proxy.pace import MOST, Pace


def test_the_pace_of_a_long_response_is_bounded_and_loses_no_byte() -> None:
    pace = Pace()
    for number in range(50_000):
        pace.add(number / 100, 3)
    told = pace.since(0.0)
    assert len(told) < MOST
    assert sum(size for _, size in told) == 150_000
    assert [ms for ms, _ in told] == sorted(ms for ms, _ in told)
    assert told[-1][0] == 499_990
