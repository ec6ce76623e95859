"""One turn under way: what its flow shows, put into the facts that are judged."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
from mitmproxy import http

from trackside.handoff.engines import by_server
from trackside.handoff.strategy import Engine
from trackside.ledger.account import Account, Counts
from trackside.ledger.clocks import read_clocks
from trackside.ledger.facts import By, End, Facts, Guarded
from trackside.ledger.outline import Outline, read_outline
from trackside.ledger.request import Asked
from trackside.prefix.hints import Hints, read_hints, read_session
from trackside.proxy.tap import tap_of
from trackside.wire import DIALECTS
from trackside.wire.chat import Message

OUTLINED_BYTES = 256 << 10
"""Larger bodies are cut into messages by a thread, while the engine reads them."""

_REPLICA_HEADERS = ("x-served-by", "x-backend-server", "x-replica-id")


class Turned:
    """Observes a response (see `tap.Observer`), and sums its turn up.

    Parameters:
        settle: called once, when the terminator was seen.
    """

    def __init__(
        self,
        flow: http.HTTPFlow,
        *,
        upstream: str,
        api: str,
        asked: Asked,
        body: bytes,
        settle: Callable[[], None],
    ) -> None:
        self.flow, self.upstream, self.api, self.asked = flow, upstream, api, asked
        self.settle = settle
        self.hints = hints_of(flow, asked)
        self.account = Account()
        self.digest = digest_of(self.hints, body)
        self.in_flight = 0
        self.outlining: asyncio.Task[Outline] | None = None
        if len(body) > OUTLINED_BYTES:
            self.outlining = asyncio.ensure_future(
                asyncio.to_thread(read_outline, body)
            )
        self._body = body
        self._begun_at = time.time()
        self._begun_s = time.monotonic()

    @property
    def sent_at(self) -> float:
        """Unix time at which the request was on its way, its connection set up."""
        server = self.flow.server_conn
        set_up = server.timestamp_tls_setup or server.timestamp_tcp_setup or 0.0
        return max(self._begun_at, set_up)

    @property
    def sent_s(self) -> float:
        """The same in monotonic time."""
        return self._begun_s + (self.sent_at - self._begun_at)

    def see(self, messages: Sequence[Message], at_s: float) -> None:
        """See `tap.Observer`."""
        was_open = self.account.ended_s is None
        for message in messages:
            self.account.see(message.pieces, at_s)
        if was_open and self.account.ended_s is not None:
            self.settle()

    def _outline(self) -> Outline:
        task = self.outlining
        if task is None or not task.done():  # that only where the proxy ends
            return read_outline(self._body)
        return task.result()

    def facts(self, engine: str | None, error: str | None) -> Facts:
        """Return what was measured; the turn is over.

        Parameters:
            error: mitmproxy's words for what broke the flow, None if nothing did.
        """
        flow, account, tap = self.flow, self.account, tap_of(self.flow)
        sent_at, sent_s = self.sent_at, self.sent_s
        ended_s = account.ended_s or time.monotonic()
        guard = flow.metadata.get("trackside.guard")
        is_ollama = self.api.startswith("ollama")
        clocks = read_clocks(account.timings, nanoseconds=is_ollama)
        streamed = tap is not None and tap.reader is not None

        def since(at_s: float | None) -> float | None:
            return None if at_s is None else max(at_s - sent_s, 0.0)

        return Facts(
            flow=flow.id,
            upstream=self.upstream,
            api=self.api,
            engine=engine,
            model=self.asked.model or account.model or "",
            agent=self.hints.agent,
            session=self.hints.session,
            streamed=streamed,
            status=flow.response.status_code if flow.response else None,
            started_at=sent_at,
            duration_s=max(ended_s - sent_s, 0.0),
            ttfb_s=since(tap.first_byte_s) if tap else None,
            ttft_s=since(account.first_token_s) if streamed else None,
            gap_p50_ms=_ms(account.gaps.percentile(50)),
            gap_p99_ms=_ms(account.gaps.percentile(99)),
            output_tokens_per_s=(
                (account.tokens_per_s() if streamed else None) or clocks.tokens_per_s
            ),
            in_flight=self.in_flight,
            request_bytes=len(self._body),
            digest=self.digest,
            outline=self._outline(),
            usage=known(merged_counts(guard, account.counts), engine, self.api),
            clocks=clocks,
            end=end_of(flow, self.api, account, error),
            guard=guard_facts(guard),
            max_tokens=self.asked.max_tokens,
            keep_alive_s=self.asked.keep_alive_s,
            replica=replica_of(flow),
            chunks=tap.pace.since(sent_s) if tap else [],
        )


def end_of(flow: http.HTTPFlow, api: str, account: Account, error: str | None) -> End:
    """Tell who ended a turn, and how far it had come.

    Parameters:
        error: mitmproxy's words for what broke the flow, None if nothing did.
    """
    status = flow.response.status_code if flow.response else None
    guard: Mapping[str, Any] = flow.metadata.get("trackside.guard") or {}
    acted = guard.get("tripped") and guard.get("handoff")
    reason, stage = account.finish_reason, account.stage
    by: By = "engine"
    if acted:
        told = guard.get("end") or {}
        reason, by = told.get("finish_reason"), "guard"
        stage = "complete" if reason else stage
    if stage == "complete" and account.failure is None:
        return End(by, stage, reason)
    if account.failure is not None:
        return End("error", stage, reason, account.failure)
    if status is not None and status >= 400:
        return End("error", stage, reason, str(status))
    if error is None:
        if api not in DIALECTS:
            return End(by, "complete")  # nothing can show that it was cut
        return End("error", stage, reason, "cut")
    if "client" in error.lower():
        return End("client", stage, reason)
    return End("error", stage, reason, error[:80])


def guard_facts(guard: Mapping[str, Any] | None) -> Guarded | None:
    """Return what the guard's record says of a turn."""
    if not guard:
        return None
    if "phase1" in guard:
        return Guarded(2, guard["phase1"])
    if not guard.get("tripped"):
        return None
    handoff = guard.get("handoff") or {}
    return Guarded(
        1,
        handoff.get("flow_id"),
        tripped=True,
        reason=guard.get("reason"),
        spent_tokens=guard.get("reasoning_tokens"),
    )


def merged_counts(guard: Mapping[str, Any] | None, told: Counts) -> Counts:
    """Return a turn's counts: those of both phases, where the guard went on with it."""
    merged = ((guard or {}).get("usage") or {}).get("merged")
    if not merged or not (guard or {}).get("handoff"):
        return told
    return Counts(**{name: merged.get(name) for name in Counts.__struct_fields__})


def known(counts: Counts, engine: str | None, api: str) -> Counts:
    """Return an engine's counts without what it writes where it does not know.

    Source: Ollama's Responses route tells no cached tokens, and always writes zero.
    """
    if engine == "ollama" and api == "responses" and counts.cached == 0:
        return msgspec.structs.replace(counts, cached=None)
    return counts


def hints_of(flow: http.HTTPFlow, asked: Asked) -> Hints:
    """Return what the client says of itself, in its headers or in its body."""
    hints = read_hints({k.lower(): v for k, v in flow.request.headers.items()})
    members = {
        "metadata": asked.metadata,
        "prompt_cache_key": asked.prompt_cache_key,
    }
    return replace(hints, session=hints.session or read_session(members))


def digest_of(hints: Hints, body: bytes) -> int:
    """Return a digest that only the same request of the same client has."""
    return hash((hints.agent, hints.session, body))


def replica_of(flow: http.HTTPFlow) -> str:
    """Return what tells the machine behind an upstream; "" if nothing does."""
    address = flow.server_conn.peername
    told = [address[0]] if address else []
    if flow.response:
        headers = flow.response.headers
        told += [headers[name] for name in _REPLICA_HEADERS if name in headers]
    return " ".join(told)


def engine_of(flow: http.HTTPFlow) -> Engine | None:
    """Return the engine that a response's headers name."""
    return by_server(flow.response.headers.get("server", "")) if flow.response else None


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 1)
