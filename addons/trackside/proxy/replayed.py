"""The facts of a turn that did not run through this proxy: one from a capture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mitmproxy import http

from trackside.ledger.account import Account, Counts
from trackside.ledger.clocks import Clocks, read_clocks
from trackside.ledger.facts import Facts
from trackside.ledger.outline import read_outline
from trackside.ledger.request import read_asked
from trackside.proxy.engine import upstream_of
from trackside.proxy.reading import pieces_of
from trackside.proxy.turned import (
    digest_of,
    end_of,
    engine_of,
    guard_facts,
    hints_of,
    known,
    merged_counts,
    replica_of,
)

_FIELDS = Counts.__struct_fields__


def replayed_facts(flow: http.HTTPFlow, api: str, before: Mapping[str, Any]) -> Facts:
    """Return what a saved flow tells of its turn.

    Times that only the proxy of its day could see, and counts that it hid from the
    client, are taken from the record it made.

    Parameters:
        before: that record; empty if there is none.
    """
    body = flow.request.get_content(strict=False) or b""
    asked, account = read_asked(body, api), Account()
    response = flow.response
    if response and response.status_code < 400:
        content = response.get_content(strict=False) or b""
        account.see(pieces_of(api, response, content), 0.0)
    hints = hints_of(flow, asked)
    engine = before.get("engine") or engine_of(flow)
    told = merged_counts(flow.metadata.get("trackside.guard"), account.counts)
    told = known(told, engine, api)
    hidden, gaps = before.get("usage") or {}, before.get("gaps") or {}
    clocks = read_clocks(account.timings, nanoseconds=api.startswith("ollama"))
    sent_at = flow.request.timestamp_end or flow.request.timestamp_start
    ended_at = (response.timestamp_end if response else None) or sent_at
    error = flow.error.msg if flow.error else None
    return Facts(
        flow=flow.id,
        upstream=upstream_of(flow),
        api=api,
        engine=engine,
        model=asked.model or account.model or "",
        agent=hints.agent,
        session=hints.session,
        streamed=before.get("streamed", asked.streamed),
        status=response.status_code if response else None,
        started_at=before.get("started_at") or sent_at,
        duration_s=before.get("duration_s") or max(ended_at - sent_at, 0.0),
        ttfb_s=before.get("ttfb_s"),
        ttft_s=before.get("ttft_s"),
        gap_p50_ms=gaps.get("p50_ms"),
        gap_p99_ms=gaps.get("p99_ms"),
        output_tokens_per_s=before.get("output_tokens_per_s"),
        in_flight=before.get("in_flight") or 0,
        request_bytes=before.get("request_bytes") or len(body),
        digest=digest_of(hints, body),
        outline=read_outline(body),
        usage=Counts(
            *(
                hidden.get(name) if getattr(told, name) is None else getattr(told, name)
                for name in _FIELDS
            )
        ),
        clocks=clocks if account.timings else Clocks(**(before.get("clocks") or {})),
        end=end_of(flow, api, account, error),
        guard=guard_facts(flow.metadata.get("trackside.guard")),
        max_tokens=asked.max_tokens,
        keep_alive_s=asked.keep_alive_s,
        replica=replica_of(flow),
        chunks=before.get("chunks") or [],
    )
