"""A prompt in outline: who says how much, enough to see what two prompts share."""

from typing import Any

import msgspec

_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_HISTORIES = ("messages", "input")
_START_BYTES = 64
_STARTS_OF_UNITS = 4  # where unrelated prompts part, if they begin alike at all


class Unit(msgspec.Struct, frozen=True, gc=False):
    """One tool list, system text or message."""

    role: str  # "tools", "system", "user", "tool", "assistant", … or ""
    size_bytes: int  # as sent
    chain: int  # digest of it and all before it
    calls_tools: bool = False
    starts: tuple[int, ...] = ()  # digests of its first 64, 128, 256, … bytes


class Outline(msgspec.Struct, frozen=True):
    """The units of a prompt, in the order in which most templates render them."""

    units: tuple[Unit, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Bytes of all units."""
        return sum(unit.size_bytes for unit in self.units)

    def shared(self, other: "Outline") -> tuple[int, int]:
        """Return between how many bytes and how many both begin alike.

        Example:
            >>> one = read_outline(b'{"messages":[{"role":"user","content":"hello"}]}')
            >>> two = read_outline(b'{"messages":[{"role":"user","content":"help"}]}')
            >>> one.shared(two), one.shared(one)
            ((0, 32), (33, 33))
        """
        low = 0
        for mine, theirs in zip(self.units, other.units, strict=False):
            if mine.chain != theirs.chain:
                least, most = 0, min(mine.size_bytes, theirs.size_bytes)
                for power, (one, two) in enumerate(
                    zip(mine.starts, theirs.starts, strict=False)
                ):
                    if one != two:
                        most = min(most, _START_BYTES << power)
                        break
                    least = _START_BYTES << power
                return low + least, low + most
            low += mine.size_bytes
        return low, low

    def sharing(self, other: "Outline") -> "Outline":
        """Return the same outline, in memory one with what both begin with."""
        same = len(self.units) - len(self.behind(other))
        return Outline(other.units[:same] + self.units[same:])

    def behind(self, other: "Outline") -> tuple[Unit, ...]:
        """Return the units that this prompt has behind what both share."""
        same = 0
        for mine, theirs in zip(self.units, other.units, strict=False):
            if mine.chain != theirs.chain:
                break
            same += 1
        return self.units[same:]


class _Body(msgspec.Struct, gc=False):
    tools: msgspec.Raw = msgspec.Raw(b"")
    system: msgspec.Raw = msgspec.Raw(b"")
    instructions: msgspec.Raw = msgspec.Raw(b"")
    prompt: msgspec.Raw = msgspec.Raw(b"")
    messages: msgspec.Raw = msgspec.Raw(b"")
    input: msgspec.Raw = msgspec.Raw(b"")


class _Message(msgspec.Struct, gc=False):
    role: Any = None
    type: Any = None


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_message = msgspec.json.Decoder(_Message).decode


def read_outline(body: bytes) -> Outline:
    """Outline a request body of any dialect, in O(its length).

    Empty for what is no JSON object.
    """
    try:
        fields = _decode_body(body)
    except _UNREADABLE:
        return Outline()
    units: list[Unit] = []
    chain = 0

    def add(raw: bytes, role: str) -> None:
        nonlocal chain
        if raw and raw != b"null":
            chain = hash((chain, raw))
            calls = b'"tool_calls"' in raw or b'"tool_use"' in raw
            starts = _starts(raw) if len(units) < _STARTS_OF_UNITS else ()
            units.append(Unit(role, len(raw), chain, calls, starts))

    add(bytes(fields.tools), "tools")
    add(bytes(fields.system), "system")
    add(bytes(fields.instructions), "system")
    add(bytes(fields.prompt), "user")
    for name in _HISTORIES:
        history = bytes(getattr(fields, name))
        if history.startswith(b"["):
            for item in _items(history):
                add(item, _role(item))
        else:
            add(history, "user")
    return Outline(tuple(units))


def _starts(raw: bytes) -> tuple[int, ...]:
    powers = range((len(raw) // _START_BYTES).bit_length())
    return tuple(hash(raw[: _START_BYTES << power]) for power in powers)


def _items(history: bytes) -> list[bytes]:
    try:
        return [bytes(item) for item in _decode_list(history)]
    except _UNREADABLE:
        return []


def _role(item: bytes) -> str:
    """Return who speaks; results of tools are "tool" in every dialect."""
    try:
        message = _decode_message(item)
    except _UNREADABLE:
        return ""
    if message.role == "user" and b'"tool_result"' in item:
        return "tool"
    if isinstance(message.role, str):
        return message.role
    kind = message.type if isinstance(message.type, str) else ""
    if kind.endswith("_output"):
        return "tool"
    return "assistant" if kind.endswith("_call") or kind == "reasoning" else ""
