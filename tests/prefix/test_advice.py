from __future__ import annotations

from trackside.prefix.advice import ADVICE, advise

HARNESS = (
    *("volatile_stamp", "tools_reordered", "tools_changed", "tool_key_order"),
    *("system_changed", "injection_moved", "history_edited", "history_reordered"),
    *("history_dropped", "compacted", "params_changed", "resend", "session_border"),
)


def test_every_cause_has_its_advice() -> None:
    assert all(advise(cause, "anything") for cause in HARNESS)
    assert {name.partition("/")[0] for name in ADVICE} == set(HARNESS)


def test_the_more_special_advice_wins() -> None:
    assert advise("volatile_stamp", "clock") == (
        "freeze the time where the message was created"
    )
    assert advise("wire_only", "ids") == ""
