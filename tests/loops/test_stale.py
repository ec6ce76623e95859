"""Scores of staleness: what is read late counts as what is read at once."""

import pytest

from loop_texts import CASES, PROSE, novel
from trackside.loops.stale import Copied, Reworded
from trackside.loops.tape import Tape
from trackside.loops.units import Reader

COPIED = Copied(words=12, page=512, cost=1.0, limit=50, suspicion=0)
REWORDED = Reworded(words=2, before=3, memory=1000, cost=1.0, limit=200, suspicion=0)


def asked(rule, text, *, every):
    """Return the blocks at which the rule fires if it is asked at each n-th block."""
    tape, score, fired = Tape(), rule.score(), []
    for at, block in enumerate(Reader().feed(text)):
        tape.extend(block)
        if at % every == 0 and score.read(tape, block):
            fired.append((at, score.since))
    return fired


@pytest.mark.parametrize("rule", [COPIED, REWORDED], ids=["copied", "reworded"])
@pytest.mark.parametrize("every", [2, 5, 30])
def test_a_score_asked_late_is_the_same(rule, every):
    text = PROSE + CASES * 5 + PROSE
    at_once = asked(rule, text, every=1)
    assert at_once
    late = asked(rule, text, every=every)
    assert late == [(at, since) for at, since in at_once if at % every == 0]


def test_a_phrase_is_forgotten_after_twice_its_memory():
    rule = Reworded(words=7, before=1, memory=400, cost=1.0, limit=150, suspicion=0)
    assert asked(rule, PROSE + novel(100, 1) + PROSE, every=1)
    assert not asked(rule, PROSE + novel(900, 1) + PROSE, every=1)


def test_a_stutter_overflows_no_counter():
    for rule in (COPIED, REWORDED):
        assert asked(rule, "again and " * 5000, every=1)
