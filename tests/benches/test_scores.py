"""The figures of the loops bench."""

from benches.corpus import Trace
from benches.scores import Outcome, onset_token, summary


def outcome(group, tokens, onset=None, trip=None, **more):
    return Outcome(group, "en", tokens, onset, trip, **more)


OUTCOMES = [
    outcome("loop reasoning", 1000, 200, 400, start_chars=-50, detector="cycles"),
    outcome("loop content", 1000, 500),
    outcome("loop content", 1000, 500, 450, start_chars=10),
    outcome("semantic", 900),
    outcome("clean", 30_000, None, 5),
    outcome("clean", 20_000, evidence=("ngrams",)),
    Outcome("clean", "zh", 50_000, None, 9),
    outcome("structured", 100, None, 1),
]


def test_recall_and_tokens_saved():
    figures = summary(OUTCOMES, seconds=1.0, read=500_000)
    assert figures["recall"]["loop content"]["caught"] == 1
    assert figures["recall"]["loop content"]["recall"] == 0.5
    assert figures["recall"]["loop content"]["saved"] == 0.5
    assert figures["recall"]["semantic"]["saved"] is None
    assert figures["real"]["caught"] == 2
    assert figures["real"]["of"] == 3
    assert figures["real"]["saved"] == round(1100 / 1800, 3)
    assert figures["real"]["delay_median"] == 75
    assert figures["real"]["start_distance_median"] == 30
    assert figures["real"]["starts_after_label"] == 1
    assert figures["trips_by_detector"] == {"cycles": 1}
    assert figures["us_per_token"] == 2.0


def test_false_trips_are_counted_by_kind():
    false = summary(OUTCOMES, seconds=1.0, read=1)["false_trips"]
    assert (false["clean"], false["of"]) == (2, 3)
    assert false["per_100k_tokens"] == 2.0
    assert false["over_15k_tokens"] == 2
    assert false["chinese"] == 1
    assert (false["structured"], false["structured_of"]) == (1, 1)


def test_nothing_gives_no_figures():
    figures = summary([], seconds=0.0, read=0)
    assert figures["real"]["recall"] is None
    assert figures["false_trips"]["per_100k_tokens"] is None


def test_the_onset_is_the_token_that_holds_the_label():
    trace = Trace("a", "loop/x", "en", "reasoning", "loop", "abcdef", None, 3)
    assert onset_token(trace, ["ab", "cd", "ef"]) == 1
    assert onset_token(trace, ["abc", "def"]) == 1
    assert onset_token(Trace("a", "s", "en", "c", "clean", ""), []) is None
