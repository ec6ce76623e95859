"""Ollama's way round its templates: have the prompt rendered, then complete it raw.

Source: ollama api/types.go (`_debug_render_only`, 2026-08), docs/api.md (`raw`).
"""

from collections.abc import Generator

import msgspec

from trackside.handoff.body import join
from trackside.handoff.strategy import Call, Turn, limited
from trackside.handoff.text import closed_block
from trackside.wire.errors import WireError

PATHS = {"ollama_chat": "/api/chat", "ollama_generate": "/api/generate"}

_KEPT = ("model", "options", "keep_alive", "format")


class _Info(msgspec.Struct):
    rendered_template: str


class _Rendered(msgspec.Struct):
    debug: _Info = msgspec.field(name="_debug_info")


def calls(turn: Turn) -> Generator[Call, bytes, Call]:
    """Render the turn as the engine did, and go on behind its reasoning.

    Raises:
        WireError: the engine does not show what it renders.
    """
    wish = {"_debug_render_only": b"true", "stream": b"false"}
    answer = yield Call(PATHS[turn.dialect], join({**turn.members, **wish}))
    try:
        rendered = msgspec.json.decode(answer, type=_Rendered).debug.rendered_template
    except msgspec.DecodeError as error:
        raise WireError(f"wanted `rendered_template` from Ollama: {error}") from error
    members = limited(turn.members, turn.spent_tokens)
    prompt = rendered + closed_block(rendered, turn.kept)
    told = {key: members[key] for key in _KEPT if key in members}
    told |= {"prompt": msgspec.json.encode(prompt), "raw": b"true", "stream": b"true"}
    return Call("/api/generate", join(told), reads="ollama_generate")
