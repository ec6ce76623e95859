"""Events of phase 2 that nobody knows: they pass where both phases speak alike."""

import pytest

from handoff.rewriting import phase1
from trackside.handoff.dialects import FORMS, writer
from trackside.wire import DIALECTS

TYPED = b'data: {"type":"brand.new", "x":1}\n\n'
NAMED = b'event: brand.new\r\ndata: {"x": 1}\r\n\r\n'
LINE = b'{"brand_new": 1}\r\n'
OWN = [
    pytest.param(dialect, event, id=f"{dialect}-{kind}")
    for dialect in ("chat", "completions", "llama_completion")
    for kind, event in (("typed", TYPED), ("named", NAMED))
] + [pytest.param(name, LINE, id=name) for name in ("ollama_chat", "ollama_generate")]


def told(dialect: str, event: bytes, by: str | None = None) -> bytes:
    """Return what a client gets of an event that phase 2 says in a dialect."""
    form = FORMS[dialect]() if dialect in FORMS else None
    [message] = DIALECTS[by or dialect].reader().feed(event)
    return writer(phase1(), form, "openai").edit(message)


@pytest.mark.parametrize(("dialect", "event"), OWN)
def test_an_event_of_a_new_type_passes_as_it_is(dialect: str, event: bytes) -> None:
    assert told(dialect, event) == event


@pytest.mark.parametrize("dialect", ["messages", "responses"])
def test_chats_new_events_mean_nothing_to_another_dialect(dialect: str) -> None:
    assert told(dialect, TYPED, by="chat") == b""


@pytest.mark.parametrize(("dialect", "event"), OWN)
def test_what_may_be_an_error_does_not(dialect: str, event: bytes) -> None:
    failed = event.replace(b"{", b'{"error":"no", ', 1)
    assert told(dialect, failed) != failed


@pytest.mark.parametrize("dialect", ["chat", "completions", "llama_completion"])
@pytest.mark.parametrize(
    "event", [b"data: {}\n\n", b'data: {"x":1}\n\n', b"data: {\n\n"]
)
def test_what_names_no_type_does_not(dialect: str, event: bytes) -> None:
    assert told(dialect, event) == b""
