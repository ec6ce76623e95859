"""Runs a set of detectors over one stream and says when to act."""

from __future__ import annotations

from collections.abc import Sequence

from trackside.loops import DETECTORS
from trackside.loops.finding import Finding
from trackside.loops.units import BLOCK_BYTES, Reader

DEFAULT = tuple(DETECTORS)
"""The default set: all of them."""

ELSEWHERE = ("toolcalls",)
"""Names the option knows whose detectors read turns, not text."""


class Monitor:
    """Reads one stream once for all its detectors; cuts it into units only once.

    Parameters:
        names: the detectors to run; names of `ELSEWHERE` are passed over.
    """

    def __init__(self, names: Sequence[str] = DEFAULT) -> None:
        self.evidence: list[Finding] = []
        """What raised suspicion, in the order found. Grows by one per detector."""
        self._reader = Reader()
        self._unread: list[str] = []  # deltas that complete no block
        self._unread_bytes = 0  # of them and of what the reader has, at most
        self._detectors = [DETECTORS[name]() for name in names if name in DETECTORS]
        self._tripped = False

    def update(self, text: str) -> Finding | None:
        """Take the next delta. Return the finding to act on once, then None for ever.

        Amortised O(len(text)).
        """
        # Most deltas complete no block; they should cost next to nothing.
        self._unread.append(text)
        if text.isascii():
            self._unread_bytes += len(text)
        else:
            self._unread_bytes += 4 * len(text)
        if self._unread_bytes < BLOCK_BYTES:
            return None
        if self._tripped:
            self._unread.clear()
            return None
        blocks = self._reader.feed("".join(self._unread))
        self._unread.clear()
        self._unread_bytes = self._reader.unread_bytes
        for block in blocks:
            for detector in self._detectors:
                finding = detector.read(block)
                if finding and detector.trips:
                    self._tripped = True
                    return finding
                if finding:
                    self.evidence.append(finding)
        return None


def select(spec: str) -> tuple[str, ...]:
    """Read the option `guard_detectors`: "all", names, or names to leave out.

    Names with `-` in front are taken from the others, or from all if there are no
    others.

    Raises:
        ValueError: a name is unknown.

    Example:
        >>> select("cycles, staleness")
        ('staleness', 'cycles')
        >>> "openings" in select("-openings")
        False
    """
    known = (*DETECTORS, *ELSEWHERE)
    items = [item for item in (part.strip() for part in spec.split(",")) if item]
    for item in items:
        if item.removeprefix("-") not in (*known, "all"):
            raise ValueError(
                f"detectors: no detector {item!r}, want all or some of "
                f"{', '.join(known)}; a - in front switches one off"
            )
    off = {item[1:] for item in items if item.startswith("-")}
    on = {item for item in items if not item.startswith("-")} or {"all"}
    return tuple(
        name for name in known if ("all" in on or name in on) and name not in off
    )
