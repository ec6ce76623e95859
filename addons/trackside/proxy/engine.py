"""The engine behind the proxy: recognised once per upstream, and asked things."""

from __future__ import annotations

import asyncio
import http.client
import logging
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping

from mitmproxy import ctx
from mitmproxy.http import Headers, HTTPFlow
from mitmproxy.proxy.mode_specs import ProxyMode, ReverseMode

from trackside.handoff.continuation import DEEPSEEK_PATH
from trackside.handoff.engines import PROBES, by_answer, by_upstream
from trackside.handoff.strategy import Engine
from trackside.wire import dialect_of

logger = logging.getLogger(__name__)

PROBE_TIMEOUT_S = 2.0
CALL_TIMEOUT_S = 20.0
ASK_AGAIN_S = 60.0
"""What answered without saying what it is gets no questions for so long."""
_CREDENTIALS = ("authorization", "x-api-key", "api-key")

type Answer = tuple[int, str, bytes]
"""Status, `Server` header, body."""


def upstream_of(flow: HTTPFlow) -> str:
    """Return where this flow's request goes, as "scheme://host:port"."""
    request = flow.request
    return f"{request.scheme}://{request.host}:{request.port}"


def upstreams() -> list[str]:
    """Return the engines that reverse modes name, known before any request."""
    modes = (ProxyMode.parse(mode) for mode in ctx.options.mode)
    return [
        f"{mode.scheme}://{mode.address[0]}:{mode.address[1]}"
        for mode in modes
        if isinstance(mode, ReverseMode) and mode.scheme in ("http", "https")
    ]


def credentials(headers: Headers) -> dict[str, str]:
    """Return the headers an engine may want before it answers at all."""
    return {name: headers[name] for name in _CREDENTIALS if name in headers}


def path_for(flow: HTTPFlow, path: str) -> str:
    """Put a path of the engine behind whatever prefix this flow's path has."""
    own = flow.request.path.partition("?")[0]
    if path == DEEPSEEK_PATH:  # told by the host, so its root is known
        return path
    if dialect_of(own) == dialect_of(path) is not None:
        return own
    for root in ("/v1/", "/api/"):
        if root in own:
            return own.partition(root)[0] + path
    return path


async def ask_for(
    flow: HTTPFlow,
    path: str,
    *,
    body: bytes | None = None,
    method: str = "POST",
    timeout_s: float = CALL_TIMEOUT_S,
) -> Answer:
    """Ask the engine of a flow, with the flow's credentials. See `ask`."""
    return await ask(
        upstream_of(flow),
        path_for(flow, path),
        body=body,
        method=method,
        headers=credentials(flow.request.headers),
        timeout_s=timeout_s,
    )


async def ask(
    upstream: str,
    path: str,
    *,
    body: bytes | None = None,
    method: str | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = CALL_TIMEOUT_S,
) -> Answer:
    """Ask the engine beside the proxied traffic; error statuses are answers too.

    Raises:
        OSError: it could not be reached in time.
    """
    request = urllib.request.Request(
        upstream + path, data=body, headers=dict(headers or {}), method=method
    )
    if body is not None:
        request.add_header("Content-Type", "application/json")
    return await asyncio.to_thread(_ask, request, timeout_s)


def _ask(request: urllib.request.Request, timeout_s: float) -> Answer:
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if request.type == "https":
        handlers.append(urllib.request.HTTPSHandler(context=_tls()))
    opener = urllib.request.build_opener(*handlers)
    try:
        with opener.open(request, timeout=timeout_s) as answer:
            return answer.status, answer.headers.get("Server", ""), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Server", ""), error.read()
    except http.client.HTTPException as error:
        raise OSError(f"{request.full_url}: no HTTP answer ({error!r})") from error


def _tls() -> ssl.SSLContext:
    """Trust whom mitmproxy was told to trust."""
    context = ssl.create_default_context(
        cafile=ctx.options.ssl_verify_upstream_trusted_ca
    )
    if ctx.options.ssl_insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class Engines:
    """Remembers which engine answers at which upstream."""

    def __init__(self) -> None:
        self._known: dict[str, Engine] = {}
        self._asking: dict[str, asyncio.Task[Engine | None]] = {}
        self._unnamed_until_s: dict[str, float] = {}  # monotonic

    def get(self, upstream: str) -> Engine | None:
        """Return the engine if it is known by now."""
        return self._known.get(upstream) or by_upstream(upstream)

    def learn(self, upstream: str, engine: Engine | None) -> None:
        """Note what a response gave away."""
        if engine:
            self._known.setdefault(upstream, engine)

    async def recognise(
        self, upstream: str, headers: Mapping[str, str] | None = None
    ) -> Engine | None:
        """Ask an upstream what it is, once at a time; None if it does not say."""
        if engine := self.get(upstream):
            return engine
        if time.monotonic() < self._unnamed_until_s.get(upstream, 0.0):
            return None
        if upstream not in self._asking:
            self._asking[upstream] = asyncio.ensure_future(
                self._probe(upstream, headers)
            )
        return await self._asking[upstream]

    async def _probe(
        self, upstream: str, headers: Mapping[str, str] | None
    ) -> Engine | None:
        try:
            is_up = True
            for path in PROBES:
                status, server, body = await ask(
                    upstream, path, headers=headers, timeout_s=PROBE_TIMEOUT_S
                )
                if engine := by_answer(path, server, status, body):
                    self._known[upstream] = engine
                    return engine
                is_up = is_up and status < 500  # it may be loading its model
            if is_up:
                self._unnamed_until_s[upstream] = time.monotonic() + ASK_AGAIN_S
        except (OSError, ValueError) as error:
            logger.debug("engine: %s did not say what it is: %s", upstream, error)
        finally:
            del self._asking[upstream]
        return None


recognised = Engines()
"""Shared by the addons, so that an upstream is asked once."""
