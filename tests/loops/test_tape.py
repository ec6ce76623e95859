"""The tape: where the copies of a loop lie."""

from loop_texts import CASES, PARAGRAPH, PROSE
from trackside.loops.tape import Tape
from trackside.loops.units import LETTERS, Reader


def tape(text):
    tape = Tape()
    for block in Reader().feed(text):
        tape.extend(block)
    return tape


def test_copies_are_placed_word_for_word():
    text = PROSE + PARAGRAPH * 12
    start, second, copies = tape(text).copies(len(text) - 300)
    assert abs(start - len(PROSE)) < 10
    assert abs(second - len(PROSE) - len(PARAGRAPH)) < 40
    assert 9 <= copies <= 12


def test_copies_that_count_are_placed_by_their_letters():
    items = [
        f"Then {n * n} litres are poured into jug {n}, and so on.\n" for n in range(40)
    ]
    text = PROSE + "".join(items)
    start, second, copies = tape(text).copies(len(text) - 300, LETTERS)
    assert abs(start - len(PROSE)) < 10
    assert abs(second - start - len(items[0])) < 30
    assert copies > 30


def test_old_words_are_forgotten():
    text = PARAGRAPH + CASES * 150
    start, second, _ = tape(text).copies(len(text) - 3000)
    assert len(PARAGRAPH) < start < second < len(text)


def test_text_without_copies_still_gives_an_order():
    start, second, copies = tape(PROSE).copies(len(PROSE) - 100)
    assert 0 <= start < second <= len(PROSE)
    assert copies == 2
