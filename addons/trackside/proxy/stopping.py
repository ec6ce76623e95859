"""Engines that want to be told to stop, before their connection is closed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass

from mitmproxy import connection, http
from mitmproxy.proxy import commands

from trackside.handoff.strategy import Call
from trackside.proxy.engine import ask_for
from trackside.proxy.tap import tap_of

logger = logging.getLogger(__name__)

TIMEOUT_S = 1.0
"""A trip waits for it, so it is short: an engine takes milliseconds."""

CLOSING_S = 0.05
"""Far more than the few turns of the event loop that closing takes."""

_running: dict[str, set[asyncio.Task[None]]] = {}
"""Hooks that run now, by client connection."""


@dataclass
class EngineStopHook(commands.StartHook):
    """An engine is about to lose its client, and closing does not tell it."""

    flow: http.HTTPFlow


def stop(flow: http.HTTPFlow) -> Generator[commands.Command, None, None]:
    """Have the hook run, in a layer, if this response's engine wants to be told."""
    tap = tap_of(flow)
    if tap and tap.stop:
        yield EngineStopHook(flow)


def stopper(
    flow: http.HTTPFlow, call: Callable[[], Call | None]
) -> Callable[[], Awaitable[None]]:
    """Return what makes the call that stops a response, if there still is one."""

    async def tell() -> None:
        if (made := call()) is None:
            return
        try:
            await ask_for(flow, made.path, body=made.body, timeout_s=TIMEOUT_S)
        except OSError as error:
            logger.info("engine: could not be told to stop: %s", error)

    return tell


async def stop_engine(flow: http.HTTPFlow) -> None:
    """Do what the hook is for; never raises."""
    tap, task, client = tap_of(flow), asyncio.current_task(), flow.client_conn.id
    if tap is None or tap.stop is None or task is None:
        return
    tell, tap.stop = tap.stop, None  # once, whoever leaves next
    tasks = _running.setdefault(client, set())
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    try:
        await tell()
    except Exception:  # the stream behind this hook must go on
        logger.exception("engine: could not be told to stop")


async def let_upstreams_close(client: connection.Client) -> None:
    """Wait, in `client_disconnected`, until closed server connections are closed.

    mitmproxy cancels them once more after this hook. A connection that is just being
    closed because its client left can lose its `close` to that second cancel, and
    then the engine generates on for nobody. Engines that are being told first must
    have been told by then.
    """
    if tasks := _running.pop(client.id, None):
        await asyncio.wait(tasks, timeout=2 * TIMEOUT_S)
    await asyncio.sleep(CLOSING_S)
