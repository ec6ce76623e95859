"""What the client itself asked, whatever our addons have added to its request since."""

from __future__ import annotations

import logging
from weakref import WeakKeyDictionary

from mitmproxy import http

from trackside.wire import dialect_of, parse
from trackside.wire.errors import WireError
from trackside.wire.request import Request

logger = logging.getLogger(__name__)

_asked: WeakKeyDictionary[http.HTTPFlow, Request | None] = WeakKeyDictionary()


def client_request(flow: http.HTTPFlow) -> Request | None:
    """Return the facts of a turn as the client wrote it; None for anything else.

    Read once a flow, so the first to ask must not have edited the body yet; then the
    order in which the addons were loaded does not matter.
    """
    if flow not in _asked:
        _asked[flow] = _read(flow)
    return _asked[flow]


def _read(flow: http.HTTPFlow) -> Request | None:
    dialect = dialect_of(flow.request.path)
    if flow.request.method != "POST" or dialect is None:
        return None
    try:
        return parse(dialect, flow.request.content or b"")
    except (WireError, ValueError, RecursionError) as error:
        logger.info("passing on what is no %s request: %s", dialect, error)
        return None
