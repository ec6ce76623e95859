"""Suspicion: for how many words a stream has said nothing new."""

from loop_texts import PROSE, novel
from trackside.loops.suspicion import Suspicion
from trackside.loops.units import Reader


def read(*texts):
    """Return the suspicion after the last of the texts."""
    suspicion = Suspicion()
    for block in Reader().feed("".join(texts)):
        suspicion.read(block)
    return suspicion


def test_it_counts_the_words_of_a_second_copy_and_tells_where_that_began():
    suspicion = read(PROSE, novel(200, 1), PROSE)
    copied = len(PROSE.split())
    assert 0.85 * copied < suspicion.score <= copied
    assert abs(suspicion.since - len(PROSE) - len(novel(200, 1))) < 200


def test_what_is_new_takes_it_away():
    assert read(PROSE, PROSE, novel(400, 1)).score == 0
    assert 0 < read(PROSE, PROSE, novel(100, 1)).score < read(PROSE, PROSE).score


def test_numbers_do_not_make_a_copy_new():
    counted = "".join(f"Then {n} of {n * n} are left on the table. " for n in range(90))
    assert read(counted).score > 400


def test_what_stood_long_before_is_forgotten():
    assert read(PROSE, novel(7000, 1), PROSE).score > 200
    assert read(PROSE, novel(17_000, 1), PROSE).score < 20
