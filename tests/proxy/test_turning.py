"""Turns without a proxy around them, where only their order matters."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

from mitmproxy import http
from mitmproxy.test import taddons, tflow, tutils

from ledger.story import Story
from scripted import stream, usage
from trackside.ledger.book import Added
from trackside.prefix.arrival import Arrival
from trackside.prefix.diffing import Outcome
from trackside.proxy import turning as turning_module
from trackside.proxy.diffing import Diffing
from trackside.proxy.tap import tap_of
from trackside.proxy.turning import Turning


def new_flow(body: bytes = b"") -> http.HTTPFlow:
    asked = {"stream": True, "messages": [{"role": "user", "content": "x"}]}
    request = tutils.treq(
        method=b"POST",
        path=b"/v1/chat/completions",
        content=body or json.dumps(asked).encode(),
        port=1,
    )
    return tflow.tflow(req=request)


def test_a_turn_is_revised_though_nobody_holds_its_flow(monkeypatch: Any) -> None:
    """mitmdump keeps no flows: what is learnt later goes to the ledger all the same."""
    story = Story()
    earlier, later = story.turn("a1", 0), story.turn("a1", 1100)
    told: list[tuple[http.HTTPFlow | None, str, bool]] = []
    turning = Turning(
        asks_usage=False,
        told=lambda *said: told.append((said[0], said[1]["flow"], said[2])),
    )
    monkeypatch.setattr(turning.book, "add", lambda *_: Added(later, [earlier]))
    flow = new_flow()
    flow.live = False
    flow.response = tutils.tresp(content=b"{}")
    turning.finished(flow, None)
    assert told == [(flow, later.facts.flow, True), (None, earlier.facts.flow, False)]


HEAD = "You are a helper. " * 9_000
LARGE = "Look at the logs, then tell what is wrong with them. " * 40_000


async def take_turn(
    turning: Turning, diffing: Diffing, messages: list[dict[str, str]], cached: int
) -> None:
    """Take a turn that the engine tells to have found so many tokens."""
    body = json.dumps({"stream": True, "messages": messages}).encode()
    flow = new_flow(body)
    diffing.request(flow)
    turning.request(flow)
    flow.response = tutils.tresp(
        content=b"",
        headers=http.Headers(content_type="text/event-stream", server="llama.cpp"),
    )
    turning.responseheaders(flow)
    tap = tap_of(flow)
    assert tap
    told = usage(len(body) // 4, 2, cached)
    tap(b"".join(stream(["Hm"], ["Hi"], usage=told)))
    await diffing.finished(flow)
    await turning.readied(flow)
    turning.finished(flow, None)


def test_a_slot_is_taken_over_by_a_prompt_of_megabytes() -> None:
    told: list[dict[str, Any]] = []

    async def turns() -> None:
        turning = Turning(asks_usage=False, told=lambda _, r, __: told.append(r))
        diffing = Diffing(64 << 20, excerpts=False)
        one = [
            {"role": "system", "content": HEAD},
            {"role": "user", "content": f"1 {LARGE}"},
        ]
        two = [one[0], {"role": "user", "content": f"2 {LARGE}"}]
        cached = 0
        for _ in range(3):
            await take_turn(turning, diffing, one, cached)
            cached = len(json.dumps({"stream": True, "messages": one})) // 4
            one += [{"role": "assistant", "content": "Hi"}]
            one += [{"role": "user", "content": "Go on with the next of them."}]
        await take_turn(turning, diffing, two, len(HEAD) // 4)
        await take_turn(turning, diffing, one, len(HEAD) // 4)

    with taddons.context():
        asyncio.run(asyncio.wait_for(turns(), 50))
    assert told[-1]["request_bytes"] > 2 << 20
    verdict = told[-1]["verdict"]
    assert (verdict["cause"], verdict["by"]) == ("slot_takeover", told[-2]["thread"])


async def loop_turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_a_turn_whose_stream_is_over_waits_for_its_diff(monkeypatch: Any) -> None:
    """A large body takes longer to be diffed than a short answer to come."""
    monkeypatch.setattr(turning_module, "SETTLE_S", 0.0)
    may_go = threading.Event()
    diffing = Diffing(1 << 20, excerpts=False)
    diff = diffing.differ.diff

    def slowly(arrival: Arrival) -> Outcome:
        may_go.wait(10)
        return diff(arrival)

    monkeypatch.setattr(diffing.differ, "diff", slowly)
    told: list[dict[str, Any]] = []

    async def turn() -> None:
        turning = Turning(asks_usage=False, told=lambda _, r, __: told.append(r))
        flow = new_flow()
        diffing.request(flow)
        turning.request(flow)
        flow.response = tutils.tresp(
            content=b"", headers=http.Headers(content_type="text/event-stream")
        )
        turning.responseheaders(flow)
        tap = tap_of(flow)
        assert tap
        tap(b"".join(stream(["Hm"], ["Hi"])))
        await loop_turns(20)
        assert told == []
        may_go.set()
        await diffing.done()
        await loop_turns(20)

    with taddons.context():
        asyncio.run(asyncio.wait_for(turn(), 20))
    [record] = told
    assert (record["thread"], record["verdict"]["cause"]) == ("a1", "first_request")
