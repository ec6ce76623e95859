from trackside.wire.pieces import Content, Reasoning
from trackside.wire.tagged import TaggedText


def test_pieces_bear_the_choice():
    text = TaggedText(2)
    assert text.feed("<think>Hm</th") == [Reasoning("Hm", "inline", 2)]
    assert text.feed("ink>Yes") == [Content("Yes", 2)]
    assert text.feed("<think>") == [Content("<think>", 2)]


def test_what_is_held_back_is_released_once():
    text = TaggedText()
    assert text.feed("<thi") == []
    assert text.release() == [Content("<thi")]
    assert text.release() == []
    assert text.feed("<think>Hm") == [Content("<think>Hm")]
