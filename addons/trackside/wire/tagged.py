"""Content that may hold reasoning between think tags, as pieces."""

from trackside.wire.inline import Part, ThinkSplitter
from trackside.wire.pieces import Content, Piece, Reasoning


class TaggedText:
    """Reads the content of one choice. O(length of the text) a call.

    Example:
        >>> text = TaggedText()
        >>> text.feed("<think>Hm</think>Yes")
        [Reasoning(text='Hm', source='inline', choice=0), Content(text='Yes', choice=0)]
    """

    def __init__(self, choice: int = 0) -> None:
        self._choice = choice
        self._splitter = ThinkSplitter()

    def feed(self, text: str) -> list[Piece]:
        """Return what is sure by now."""
        if self._splitter.settled:
            return [Content(text, self._choice)]
        return self._pieces(self._splitter.feed(text))

    def release(self) -> list[Piece]:
        """Return what is held back: the text goes on elsewhere, or ends."""
        if self._splitter.settled:
            return []
        return self._pieces(self._splitter.release())

    def _pieces(self, parts: list[Part]) -> list[Piece]:
        return [
            Reasoning(text, "inline", self._choice)
            if kind == "reasoning"
            else Content(text, self._choice)
            for kind, text in parts
        ]
