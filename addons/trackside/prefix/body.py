"""A request body cut into what a prompt is made of, byte-exact."""

import hashlib
from collections.abc import Iterable, Mapping

from trackside.prefix.dialects import RESPONSES, Dialect
from trackside.prefix.effective import effective_message, effective_tool
from trackside.prefix.hints import read_session
from trackside.prefix.history import read_history
from trackside.prefix.spans import (
    BodyError,
    Span,
    decode_elements,
    element_spans,
    member_spans,
)
from trackside.prefix.surrogates import mend_surrogates
from trackside.prefix.units import Body, Head, History, Unit


def read_body(
    raw: bytes, dialect: Dialect, known: Body | None = None, agreed: int | None = None
) -> Body:
    """Cut a request body into units.

    Parameters:
        raw: the body, JSON in UTF-8.
        dialect: the wire format it is written in.
        known: an earlier body of the same dialect. What both share is taken over from
            it: an append costs one comparison of the bytes and reading the new ones.
        agreed: bytes of the turns that both begin with, if that has been compared.

    Raises:
        BodyError: a body that is no request of the dialect; it says why.
    """
    try:
        return _read(raw, dialect, known, agreed)
    except BodyError:
        mended = mend_surrogates(raw)
        if mended is raw:
            raise
        return _read(mended, dialect, known, None)


def _read(raw: bytes, dialect: Dialect, known: Body | None, agreed: int | None) -> Body:
    history = read_history(raw, dialect, known, agreed)
    if known is not None and _frames_alike(raw, history, known):
        head, session, places = known.head, known.session, None
        response, is_held = known.previous_response_id, known.is_held
    else:
        places = _members(raw, history)
        members = {name: place.of(raw) for name, place in places.items()}
        head = _read_head(members, dialect, known.head if known else None)
        session = read_session(members)
        response, is_held = _read_held(members, dialect)
    lead = 0
    # Behind turns that the engine holds, a system message stands in their midst.
    units = () if is_held else history.units
    while lead < len(units) and units[lead].role == "system":
        lead += 1
    reused: tuple[int, ...] = ()
    if known is not None and known.lead == lead:
        reused = known.chain[: max(0, history.shared - lead)]
    chain = _chain(history, lead, reused)
    leading = history.units[:lead]
    if known is not None and head is known.head and leading == known.leading:
        head_hash = known.head_hash
    else:
        texts = (raw[history.base + u.start : history.base + u.end] for u in leading)
        head_hash = _head_hash(head, texts, dialect)
    return Body(
        raw=raw,
        dialect=dialect,
        history=history,
        head=head,
        lead=lead,
        chain=chain,
        members=places,
        session=session,
        previous_response_id=response,
        is_held=is_held,
        head_hash=head_hash,
    )


def members_of(body: Body) -> Mapping[str, Span]:
    """Return where each top-level member's value stands. O(bytes outside the turns)."""
    return body.members or _members(body.raw, body.history)


def _members(raw: bytes, history: History) -> dict[str, Span]:
    """Read the body as if it had no turns, then put the offsets right."""
    cut = history.tail - history.base
    places = {}
    for name, spans in member_spans(raw[: history.base] + raw[history.tail :]).items():
        if len(spans) > 1:
            raise BodyError(f"duplicate key {name!r}: readers disagree on which counts")
        (span,) = spans
        start = span.start + cut if span.start >= history.base else span.start
        end = span.end + cut if span.end > history.base else span.end
        places[name] = Span(start, end)
    return places


def _frames_alike(raw: bytes, history: History, known: Body) -> bool:
    return raw.startswith(known.raw[: known.history.base]) and (
        raw[history.tail :] == known.raw[known.history.tail :]
    )


def _read_held(members: Mapping[str, bytes], dialect: Dialect) -> tuple[str, bool]:
    """Return the response that a request goes on from, and whether it does by an id."""
    if dialect.name != RESPONSES:
        return "", False
    told = members.get("previous_response_id", b"")
    response = told[1:-1].decode("utf-8", "replace") if told.startswith(b'"') else ""
    return response, bool(response) or members.get("conversation", b"null") != b"null"


def _read_head(
    members: Mapping[str, bytes], dialect: Dialect, known: Head | None
) -> Head:
    tools_raw = members.get("tools", b"")
    system_raw = members.get(dialect.system, b"") if dialect.system else b""
    if known and (tools_raw, system_raw) == (known.tools_raw, known.system_raw):
        return known
    tools = _tool_units(tools_raw)
    system = _system_units(system_raw, dialect)
    digest = hashlib.blake2b(digest_size=8)
    for unit in tools:
        digest.update(effective_tool(tools_raw[unit.start : unit.end]))
    digest.update(b"\n")
    for unit in system:
        told = effective_message(system_raw[unit.start : unit.end], dialect)[1]
        digest.update(told)
    size_bytes = sum(unit.size_bytes for unit in (*tools, *system))
    return Head(tools, system, tools_raw, system_raw, digest.digest(), size_bytes)


def _tool_units(raw: bytes) -> tuple[Unit, ...]:
    if not raw.startswith(b"["):
        return ()
    return tuple(
        Unit(span.start, span.end, "tool", hash(effective_tool(span.of(raw))))
        for span in element_spans(raw, decode_elements(raw), 1)
    )


def _system_units(raw: bytes, dialect: Dialect) -> tuple[Unit, ...]:
    if raw in (b"", b"null", b'""', b"[]"):
        return ()
    spans = [Span(0, len(raw))]
    if raw.startswith(b"["):
        spans = element_spans(raw, decode_elements(raw), 1)
    return tuple(
        Unit(
            span.start,
            span.end,
            "system",
            hash(effective_message(span.of(raw), dialect)[1]),
        )
        for span in spans
    )


def _chain(history: History, lead: int, reused: tuple[int, ...]) -> tuple[int, ...]:
    chain = list(reused)
    digest = chain[-1] if chain else 0
    for unit in history.units[lead + len(reused) :]:
        digest = hash((digest, unit.digest))
        chain.append(digest)
    return tuple(chain)


def _head_hash(head: Head, leading: Iterable[bytes], dialect: Dialect) -> str:
    digest = hashlib.blake2b(head.digest, digest_size=4)
    for raw in leading:
        digest.update(effective_message(raw, dialect)[1])
    return digest.hexdigest()
