import json

import pytest

from trackside.handoff import abort
from trackside.handoff.engines import NAMES
from trackside.wire import DIALECTS


@pytest.mark.parametrize("engine", [*NAMES, None])
def test_only_sglang_is_told(engine):
    call = abort.call(engine, "chat", "0a1b")
    assert (call is not None) is (engine == "sglang")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_it_is_named_where_the_response_has_its_id(dialect):
    call = abort.call("sglang", dialect, "0a1b")
    assert (call is not None) is (dialect in ("chat", "completions", "responses"))
    if call:
        assert (call.path, json.loads(call.body)) == ("/abort_request", {"rid": "0a1b"})


def test_without_an_id_nothing_is_aborted():
    assert abort.call("sglang", "chat", "") is None
