"""Text that changes by itself: clocks, dates, nonces, counters, temporary paths."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from trackside.prefix.leaves import common_front

_DAY = r"(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?"
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_DATE = (
    rf"(?:\d{{4}}[-/]\d{{2}}[-/]\d{{2}}|\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}"
    rf"|(?:{_DAY},?\s)?(?:\d{{1,2}}\.?\s{_MONTH}|{_MONTH}\s\d{{1,2}})(?:,?\s\d{{4}})?"
    rf"|\b{_DAY}\b)"
)
_TIME = (
    r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?(?:\s?[AaPp]\.?[Mm]\.?)?"
    r"(?:Z|\s?[+-]\d{2}:?\d{2}|\s(?:UTC|GMT|[A-Z]{3,4})\b)?"
)
_PATTERNS = (
    ("uuid", r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"),
    (
        "tmp_path",
        r"(?:/private)?(?:/tmp|/var/folders|/var/tmp|/dev/shm|[A-Z]:\\[^\s\"']*\\Temp)"
        r"[/\\][^\s\"'<>|,;)]*",
    ),
    (
        "clock",
        rf"(?:{_DATE}[T,]?\s?(?:at\s)?)?{_TIME}(?:\s{_DATE})?|\b1[5-9]\d{{8}}(?:\d{{3}})?(?:\.\d+)?\b",
    ),
    ("date", _DATE),
    (
        "nonce",
        r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{5,}\b"
        r"|\b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9]{10,}\b"
        r"|(?<=cch=)[0-9a-f]{5}",
    ),
    ("counter", r"\d+(?:[.,]\d+)*"),
)
_VOLATILE = re.compile("|".join(f"(?P<{name}>{text})" for name, text in _PATTERNS))
_ORDER = ("clock", "date", "uuid", "tmp_path", "nonce", "counter")
_MAX_BYTES = 200  # changed volatile text, or ...
_MAX_RATIO = 0.1  # ... this part of the whole
_END_CHARS = 200  # of the equal ends, looked at with what differs
_MIDDLE_CHARS = 200_000  # from the first to the last difference
_NEIGHBOURS = 4  # words looked at on each side of a difference
_MARGIN_CHARS = 64  # of a word, kept on each side of a difference within it
_WINDOW_CHARS = 1000  # looked at around one difference
_FIELDS = (
    ("subsecond", re.compile(r"[.,]\d+")),
    ("second", re.compile(r":\d{2}:\d{2}")),
    ("minute", re.compile(r"\d{1,2}:\d{2}")),
)


@dataclass(frozen=True, slots=True)
class Stamp:
    """Volatile text that changed between two versions of a text."""

    kind: str  # clock, date, nonce, uuid, counter or tmp_path
    old: str
    new: str
    resolution: str  # of a clock: subsecond, second or minute; else ""


def find_stamp(old: str, new: str) -> Stamp | None:
    """Return what changed if only volatile text did, the tellingest kind first.

    The parts that differ must be short: below 200 characters together, or a tenth of
    the text. Only the words around a difference are looked at: O(characters).

    Example:
        >>> find_stamp("It is 06:00:31 PM. Go.", "It is 06:00:32 PM. Go.").kind
        'clock'
        >>> find_stamp("two words", "two swords") is None
        True
    """
    changed: list[tuple[re.Match[str], re.Match[str]]] = []
    length = 0
    differing = _middles(old, new)
    if max(map(len, differing)) > _MIDDLE_CHARS:
        return None
    for mine, other in _differing_windows(*differing):
        pairs = _changed_matches(mine, other)
        if not pairs:
            return None
        changed += pairs
        length += sum(max(len(a[0]), len(b[0])) for a, b in pairs)
        if length >= max(_MAX_BYTES, _MAX_RATIO * len(old)):
            return None
    if not changed:
        return None
    kind = min((str(b.lastgroup) for _, b in changed), key=_ORDER.index)
    a, b = next((a, b) for a, b in changed if b.lastgroup == kind)
    return Stamp(kind, a[0], b[0], _resolution(b[0]) if kind == "clock" else "")


def _middles(old: str, new: str) -> tuple[str, str]:
    """Return what stands between the equal ends of two texts, with some of these."""
    front = common_front(old, new)
    back = common_front(old[front:][::-1], new[front:][::-1])
    start = max(0, front - _END_CHARS)
    mine, other = (
        text[start : len(text) - max(0, back - _END_CHARS)] for text in (old, new)
    )
    return mine, other


def _differing_windows(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Yield the words that differ, with their neighbours, pair by pair.

    Texts of unlike numbers of words are one pair: what stands between the words both
    begin with and the words both end with.
    """
    mine, others = old.split(), new.split()
    at = 0
    if len(mine) != len(others):
        while at < min(len(mine), len(others)) and mine[at] == others[at]:
            at += 1
        back = 0
        while back < min(len(mine), len(others)) - at and (
            mine[-1 - back] == others[-1 - back]
        ):
            back += 1
        start = max(0, at - _NEIGHBOURS)
        end, other_end = (len(words) - back + _NEIGHBOURS for words in (mine, others))
        yield " ".join(mine[start:end]), " ".join(others[start:other_end])
        return
    while at < len(mine):
        if mine[at] == others[at]:
            at += 1
            continue
        end = at + 1
        while end < len(mine) and mine[end : end + 3] != others[end : end + 3]:
            end += 1
        around = slice(max(0, at - _NEIGHBOURS), end + _NEIGHBOURS)
        yield " ".join(mine[around]), " ".join(others[around])
        at = end


def _changed_matches(old: str, new: str) -> list[tuple[re.Match[str], re.Match[str]]]:
    """Return the volatile texts that changed, or nothing if other text did too."""
    front = common_front(old, new)
    back = common_front(old[front:][::-1], new[front:][::-1])
    start = max(0, front - _MARGIN_CHARS)
    old, new = (
        text[start : max(front, len(text) - back + _MARGIN_CHARS)]
        for text in (old, new)
    )
    if max(len(old), len(new)) > _WINDOW_CHARS:
        return []
    if _VOLATILE.sub("\0", old) != _VOLATILE.sub("\0", new):
        return []
    pairs = zip(_VOLATILE.finditer(old), _VOLATILE.finditer(new), strict=True)
    return [(a, b) for a, b in pairs if a[0] != b[0]]


def _resolution(clock: str) -> str:
    for name, field in _FIELDS:
        if field.search(clock):
            return name
    return "second"  # seconds since 1970
