"""When how much of a response went to the client, in bounded memory."""

MOST = 4096
"""Entries; when they are full, neighbours are joined two by two."""


class Pace:
    """Notes the chunks of a response. O(1) each, amortised.

    Example:
        >>> pace = Pace()
        >>> pace.add(10.5, 120), pace.add(10.75, 80)
        (None, None)
        >>> pace.since(10.0)
        [[500, 120], [750, 80]]
    """

    def __init__(self) -> None:
        self._chunks: list[tuple[float, int]] = []

    def add(self, at_s: float, size_bytes: int) -> None:
        """Note a chunk; `at_s` is of any clock that goes on evenly."""
        self._chunks.append((at_s, size_bytes))
        if len(self._chunks) >= MOST:
            pairs = zip(self._chunks[::2], self._chunks[1::2], strict=True)
            self._chunks = [(at_s, one + two) for (_, one), (at_s, two) in pairs]

    def since(self, start_s: float) -> list[list[int]]:
        """Return [milliseconds since `start_s`, bytes] of each chunk."""
        return [
            [round((at_s - start_s) * 1000), size_bytes]
            for at_s, size_bytes in self._chunks
        ]
