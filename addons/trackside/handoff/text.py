"""Text completions that are gone on with: the prompt, and what was said so far."""

from collections.abc import Iterable

import msgspec

from trackside.handoff.body import join, split
from trackside.handoff.strategy import THINK, Call, Turn, limited, streamed
from trackside.wire.inline import THINK_TAGS
from trackside.wire.pieces import Content, Finish, Piece
from trackside.wire.tagged import TaggedText

PATHS = {"completions": "/v1/completions", "llama_completion": "/completion"}
"""Where each text dialect is spoken."""


def fits(turn: Turn) -> bool:
    """Tell whether the prompt is text: token ids can't be added to."""
    return turn.members.get("prompt", b"").startswith(b'"')


def continued(turn: Turn) -> Call:
    """Return the request that goes on behind the reasoning, closed."""
    members = limited(turn.members, turn.spent_tokens)
    if turn.dialect == "completions":
        members = streamed(members)
    prompt = msgspec.json.decode(members["prompt"], type=str)
    closed = prompt + closed_block(prompt, turn.kept)
    members = {**members, "prompt": msgspec.json.encode(closed)}
    return Call(PATHS[turn.dialect], join(members), reads=turn.dialect)


def block(prompt: str) -> tuple[str, str]:
    r"""Return what goes before and after the reasoning.

    That is no opening tag if the generation prompt ends with one.

    Example:
        >>> block("<|im_start|>assistant\n")
        ('<think>\n', '\n</think>\n\n')
        >>> block("<|im_start|>assistant\n<think>\n")
        ('', '\n</think>\n\n')
    """
    text = prompt.rstrip()
    for opener, closer in THINK_TAGS.items():
        if text.endswith(opener):
            return "", f"\n{closer}\n\n"
    return THINK


def closed_block(prompt: str, kept: str) -> str:
    r"""Return what goes behind a prompt to say the reasoning, closed.

    Reasoning that was read between tags has the line break that the opener brings.

    Example:
        >>> closed_block("<|im_start|>assistant\n", "\nHm.")
        '<think>\nHm.\n</think>\n\n'
    """
    opener, closer = block(prompt)
    if opener.endswith("\n"):
        kept = kept.removeprefix("\n")
    return f"{opener}{kept}{closer}"


class Opened:
    """Reads text that begins inside the reasoning, as its prompt has opened it.

    Example:
        >>> text = Opened("<think>")
        >>> text.place([Content("Hm</think>Yes")])
        (Reasoning(text='Hm', source='inline', choice=0), Content(text='Yes', choice=0))
    """

    def __init__(self, opener: str) -> None:
        self._text = TaggedText()
        self._text.feed(opener)

    def place(self, pieces: Iterable[Piece]) -> tuple[Piece, ...]:
        """Return pieces with their text as what it is."""
        placed: list[Piece] = []
        for piece in pieces:
            if isinstance(piece, Content):
                placed += self._text.feed(piece.text)
            elif isinstance(piece, Finish):
                placed += (*self._text.release(), piece)
            else:
                placed.append(piece)
        return tuple(placed)


def opened(content: bytes, dialect: str) -> Opened | None:
    """Return what reads the answer to a prompt that opens the reasoning, or None."""
    prompt = split(content).get("prompt", b"") if dialect in PATHS else b""
    if not prompt.startswith(b'"'):
        return None
    told = msgspec.json.decode(prompt, type=str).rstrip()
    opener = next((tag for tag in THINK_TAGS if told.endswith(tag)), None)
    return Opened(opener) if opener else None
