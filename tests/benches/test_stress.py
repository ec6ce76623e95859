"""Pure stutter is caught soon, and cuts do not matter."""

from benches import stress
from benches.corpus import tokens
from loop_texts import CASES, CODE, PARAGRAPH, PROSE, TABLE


def test_pure_stutter_trips_within_300_tokens():
    prose = tokens("\n".join([PROSE, CASES, CODE, TABLE]))[1]
    found = stress.stutter(prose)
    slow = {name: count for name, count in found.items() if not count or count > 300}
    # cl100k cuts an emoji into three tokens
    assert slow.keys() <= {"emoji"}


def test_cuts_agree_on_a_loop():
    text = PROSE + PARAGRAPH * 20
    assert stress.cuts_agree(text, tokens(text)[1])
