"""Staleness: text that says nothing new, verbatim, renumbered or reworded."""

import random

import pytest

from loop_texts import CASES, CHINESE, CODE, PROSE, RUSSIAN, TABLE, novel
from trackside.loops.stale import Copied
from trackside.loops.staleness import RULES, Staleness
from trackside.loops.units import BLOCK_BYTES

NAMES = (
    "anchor",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "inlet",
)
STEP = (
    "Suppose the {0} stands to the left of the {1}, so that whoever looks from the "
    "{2} sees {3} of them, and then we have to ask again what the {4} would say."
)


def drifting(copies, seed=1):
    """Return a template filled anew each time: no two copies are equal."""
    numbers = random.Random(seed)
    return "\n\n".join(
        STEP.format(*numbers.sample(NAMES, 3), numbers.randrange(99), n)
        for n in range(copies)
    )


def shuffled(copies, seed=1):
    """Return the same sentences in another order each time, words dropped."""
    numbers = random.Random(seed)
    sentences = [s.strip() for s in PROSE.replace("\n", " ").split(".") if s.strip()]
    text = []
    for _ in range(copies):
        numbers.shuffle(sentences)
        for sentence in sentences:
            words = [word for word in sentence.split() if numbers.random() > 0.06]
            text.append(" ".join(words))
    return ". ".join(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PROSE * 8, id="verbatim"),
        pytest.param((PROSE + CASES) * 8, id="long-period"),
        pytest.param((PROSE + novel(3500)) * 5, id="twelve-pages"),
        pytest.param(RUSSIAN * 20, id="russian"),
        pytest.param(CHINESE * 20, id="chinese"),
        pytest.param(
            "".join(f"n={n}: f({n}) = {n * 37 % 101}, go on.\n" for n in range(300)),
            id="counting",
        ),
        pytest.param(
            "\n".join(f"Case {n}: {CASES[:200]} {n * 7 % 50}." for n in range(60)),
            id="drifting-numbers",
        ),
        pytest.param(shuffled(14), id="reworded"),
    ],
)
def test_a_loop_is_found_and_placed(text):
    finding = Staleness().update(PROSE[:700] + "\n\n" + text)
    assert finding is not None
    assert finding.start < finding.second < finding.end <= 702 + len(text)
    assert finding.copies >= 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PROSE * 2, id="three-times"),
        pytest.param(
            "".join(f"n={n}: f({n}) = {n * 37 % 101}, go on.\n" for n in range(45)),
            id="a-page-of-arithmetic",
        ),
        pytest.param(CODE * 3, id="a-draft-and-two-revisions"),
        pytest.param(TABLE, id="table"),
        pytest.param(
            "\n".join(f"x[{n}] = f(y[{n}], z[{n}]) + g(w[{n}]);" for n in range(28)),
            id="boilerplate",
        ),
        pytest.param(drifting(3), id="three-cases"),
    ],
)
def test_honest_repetition_is_not(text):
    assert Staleness().update(PROSE + text + PROSE[:200]) is None


@pytest.mark.parametrize(
    "copy",
    [
        pytest.param(CASES, id="cases"),
        pytest.param(PROSE[:1200] + "\n", id="a-page"),
        pytest.param(PROSE, id="two-pages"),
    ],
)
def test_the_text_kept_ends_before_the_second_copy(copy):
    before = novel(100) + "\n\n"
    finding = Staleness().update(before + copy * 8)
    assert finding is not None
    assert len(before) - 200 < finding.start <= len(before) + len(copy) // 4


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        pytest.param(RULES[0], PROSE[:800] * 8, id="a-page"),
        pytest.param(RULES[0], PROSE * 8, id="two-pages"),
        pytest.param(
            RULES[1],
            "".join(f"We go on to {n}, and it is {n * 37 % 101}. " for n in range(90)),
            id="renumbered",
        ),
        pytest.param(RULES[2], shuffled(14), id="reworded"),
    ],
)
def test_each_rule_finds_its_kind_by_itself(rule, text):
    assert Staleness(rules=[rule]).update(text) is not None
    assert Staleness(rules=[rule]).update(PROSE * 2) is None


def test_novel_words_pay_a_score_back():
    rule = Copied(words=2, page=512, cost=1.0, limit=100, suspicion=110)
    copy, fresh, padding = novel(60), novel(60, seed=2), " ." * 80
    assert Staleness(rules=[rule]).update(f"{copy} {copy} {copy} {padding}") is None
    assert Staleness(rules=[rule]).update(f"{copy} {copy} {copy} {copy} {padding}")
    broken = f"{copy} {copy} {copy} {fresh} {copy} {padding}"
    assert Staleness(rules=[rule]).update(broken) is None


def test_the_third_copy_counts_on_a_page_and_the_fourth_on_two():
    rule = Copied(words=4, page=200, cost=1.0, limit=40, suspicion=80)
    near, far, further = novel(90), novel(120), novel(160)
    rest = PROSE[:300]
    assert Staleness(rules=[rule]).update(f"{near} {near} {near} {rest}")
    assert Staleness(rules=[rule]).update(f"{far} {far} {far} {rest}") is None
    assert Staleness(rules=[rule]).update(f"{far} {far} {far} {far} {rest}")
    assert Staleness(rules=[rule]).update(4 * f"{further} " + rest) is None


def test_a_question_read_three_times_with_thoughts_between_is_honest():
    question = novel(70)
    text = "".join(f"{question} {novel(90, seed=n)} " for n in (2, 3, 4))
    assert Staleness().update(text + PROSE) is None
    assert Staleness().update(f"{question} {question} {question} {PROSE}")


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(novel(500, seed=5), id="a-page"),
        pytest.param(novel(20_000, seed=5), id="more-than-the-tape-holds"),
        pytest.param(
            PROSE[:800] * 2 + novel(20_000, seed=5), id="with-a-suspect-page-before"
        ),
        pytest.param(PROSE[:800] * 2 + novel(500, seed=5), id="suspect-not-long-ago"),
    ],
)
def test_the_rules_are_asked_late_and_answer_the_same(before):
    alone = Staleness().update(CASES * 8)
    finding = Staleness().update(f"{before}\n{CASES * 8}")
    assert alone is not None
    assert finding is not None
    assert abs(finding.end - len(before) - alone.end) <= 2 * BLOCK_BYTES
    assert abs(finding.second - len(before) - alone.second) <= 2 * BLOCK_BYTES
