"""Mend texts that were cut within a character."""

import re

# A high surrogate without its low one, or a low one alone, as JSON.stringify writes a
# text that was cut within a character.
_LONE_SURROGATE = re.compile(
    rb"(\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u[dD][89a-fA-F]..|\\[^u]"
)


_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def mend_surrogates(raw: bytes) -> bytes:
    """Return `raw` with each lone surrogate as the replacement character.

    Most engines read such bodies, strict decoders do not. Lengths and offsets stay.

    Example:
        >>> mend_surrogates(rb'"\\ud83d\\ude00 \\ud83d"')
        b'"\\\\ud83d\\\\ude00 \\\\ufffd"'
    """
    if not _SURROGATE.search(raw):
        return raw
    return _LONE_SURROGATE.sub(
        lambda match: match[0] if match[1] or match[0][1:2] != b"u" else rb"\ufffd",
        raw,
    )
