"""Bytes to tokens without a tokenizer: turns whose prompt the engine counted."""

from bisect import bisect_left, bisect_right

MOST = 256


class Knots:
    """A rising map from bytes of a thread's prompt to tokens, linear between knots.

    Append-only threads give it exact points: each turn's prompt is a prefix of the
    next one's. A break inside the history lies between two of them. At most `MOST`
    knots, the oldest half thinned out; O(log knots) to ask.

    Example:
        >>> knots = Knots()
        >>> knots.add(4000, 1000), knots.add(6000, 1400)
        (None, None)
        >>> knots.tokens(5000, 0.25), knots.tokens(8000, 0.25), knots.tokens(400, 0.25)
        (1200, 1900, 100)
    """

    def __init__(self) -> None:
        self._bytes: list[int] = []
        self._tokens: list[int] = []

    def add(self, size_bytes: int, tokens: int) -> None:
        """Note that a prompt of so many bytes has so many tokens.

        What contradicts a rising map is forgotten: the newest count is right.
        """
        at = bisect_left(self._bytes, size_bytes)
        while at and self._tokens[at - 1] >= tokens:
            at -= 1
        end = bisect_right(self._bytes, size_bytes)
        while end < len(self._bytes) and self._tokens[end] <= tokens:
            end += 1
        self._bytes[at:end] = [size_bytes]
        self._tokens[at:end] = [tokens]
        if len(self._bytes) > MOST:
            half = MOST // 2
            del self._bytes[1:half:2], self._tokens[1:half:2]

    def tokens(self, size_bytes: int, per_byte: float) -> int:
        """Return the tokens up to a byte.

        Parameters:
            per_byte: the slope behind the last knot, and without any.
        """
        at = bisect_left(self._bytes, size_bytes)
        if at == len(self._bytes):
            known = (self._bytes[-1], self._tokens[-1]) if self._bytes else (0, 0)
            return known[1] + round((size_bytes - known[0]) * per_byte)
        low = (self._bytes[at - 1], self._tokens[at - 1]) if at else (0, 0)
        high = (self._bytes[at], self._tokens[at])
        share = (size_bytes - low[0]) / (high[0] - low[0])
        return low[1] + round((high[1] - low[1]) * share)
