"""Tell an engine to stop that may not notice when its client goes.

SGLang up to 0.5.19 forgets a request whose connection closed, and decodes it to the
end; then it can't be aborted any more, so this must come first. Newer versions abort
by themselves, but only an abort (or the end) lets what was generated into the cache.
Source: SGLang 0.5.23 http_server.py (`/abort_request`), serving_chat.py and
serving_responses.py (the response's id is the request's), issue 36333.
"""

import msgspec

from trackside.handoff.strategy import Call, Engine

_NAMED_BY_RESPONSE = ("chat", "completions", "responses")


def call(engine: Engine | None, dialect: str, response_id: str) -> Call | None:
    """Return the call that ends a running request, or None where there is no need.

    Parameters:
        response_id: as the response told it; "" if it told none.

    Example:
        >>> call("sglang", "chat", "0a1b").body
        b'{"rid":"0a1b"}'
        >>> call("sglang", "chat", "")  # would abort every request
    """
    if engine != "sglang" or dialect not in _NAMED_BY_RESPONSE or not response_id:
        return None
    return Call("/abort_request", msgspec.json.encode({"rid": response_id}))
