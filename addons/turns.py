"""Turns: TTFT, cache state, how each turn ended, and whose fault a refill was.

Example:
    mitmdump -s addons/turns.py --mode reverse:http://127.0.0.1:8000
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from mitmproxy import addonmanager, ctx, exceptions, http

from trackside.ledger.store import Store
from trackside.proxy.exporting import telemetry
from trackside.proxy.notes import MARKERS, annotate
from trackside.proxy.options import (
    connect_lazily,
    refuse_unknown,
    refuse_unreadable,
    suit_long_turns,
)
from trackside.proxy.tap import keep_body, stream_unbounded
from trackside.proxy.turning import Turning
from trackside.report.line import FAULTS, turn_line
from trackside.report.summary import Summary
from trackside.report.telemetry import Telemetry

LINES = ("all", "faults", "off")
logger = logging.getLogger("turns")


class Turns:
    """Options and hooks; what they lead to is in `trackside.proxy.turning`."""

    def __init__(self) -> None:
        self.turning = Turning(asks_usage=True, told=self._tell)
        self.store: Store | None = None
        self.telemetry: Telemetry | None = None
        self.summary = Summary()

    def load(self, loader: addonmanager.Loader) -> None:
        """Declare the options."""
        add = loader.add_option
        add("turns_ledger", str, "", "SQLite file of the ledger; empty = none.")
        add(
            "turns_usage",
            bool,
            True,
            "Ask the engine for usage where the client did not, and hide it again.",
        )
        add(
            "turns_lines",
            str,
            "all",
            "Turns that are logged: all, those with a fault, or none.",
            choices=LINES,
        )
        add(
            "turns_summary_s",
            int,
            600,
            "Seconds between one-line summaries; 0 = none.",
        )
        add(
            "turns_otlp",
            str,
            "",
            "Base URL of an OpenTelemetry collector (OTLP over HTTP); empty = none.",
        )
        add(
            "turns_prometheus",
            str,
            "",
            "[HOST:]PORT to serve metrics at for Prometheus; empty = none.",
        )
        refuse_unreadable("turns_")

    def configure(self, updated: set[str]) -> None:
        """Check the options once; hooks may then trust them."""
        options = ctx.options
        if "turns_lines" in updated and options.turns_lines not in LINES:
            raise exceptions.OptionsError(
                f"turns_lines: got {options.turns_lines!r}, want {', '.join(LINES)}"
            )
        if "turns_summary_s" in updated and options.turns_summary_s < 0:
            raise exceptions.OptionsError(
                f"turns_summary_s: got {options.turns_summary_s}, want 0 or more"
            )
        if "turns_usage" in updated:
            self.turning.asks_usage = options.turns_usage
        if "turns_ledger" in updated:
            self._open(options.turns_ledger)
        if {"turns_otlp", "turns_prometheus"} & updated:
            self._export(options.turns_otlp, options.turns_prometheus)

    def _open(self, path: str) -> None:
        old, self.store = self.store, None
        if old:
            old.close()
        if path:
            try:
                self.store = Store(path, say=_warn)
            except OSError as error:
                raise exceptions.OptionsError(f"turns_ledger: {error}") from error

    def _export(self, otlp: str, prometheus: str) -> None:
        old, self.telemetry = self.telemetry, None
        if old:
            old.close()
        try:
            self.telemetry = telemetry(otlp, prometheus, self.turning.run)
        except (LookupError, OSError, ValueError) as error:
            name = "turns_otlp" if otlp else "turns_prometheus"
            raise exceptions.OptionsError(f"{name}: {error}") from error

    def running(self) -> None:
        """Refuse to start over a misspelt option; say what is on."""
        if refuse_unknown():
            return
        suit_long_turns()
        connect_lazily()
        options = ctx.options
        logger.info(
            "turns: on, ledger %s; usage %s; lines %s; summary %s; export %s",
            options.turns_ledger or "none",
            "asked for where clients do not" if options.turns_usage else "as asked",
            options.turns_lines,
            f"every {options.turns_summary_s} s" if options.turns_summary_s else "off",
            " ".join(filter(None, (options.turns_otlp, options.turns_prometheus)))
            or "none",
        )
        if self.telemetry and self.telemetry.url:
            logger.info("turns: metrics at %s", self.telemetry.url)

    def request(self, flow: http.HTTPFlow) -> None:
        """Take note of a turn."""
        self.turning.request(flow)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Observe the stream; never buffer one."""
        self.turning.responseheaders(flow)
        stream_unbounded(flow)

    async def response(self, flow: http.HTTPFlow) -> None:
        """Settle the turn, also of a flow that is read from a file."""
        keep_body(flow)
        await self.turning.readied(flow)
        self.turning.finished(flow, None)

    async def error(self, flow: http.HTTPFlow) -> None:
        """Settle the turn; most clients end one by closing."""
        keep_body(flow)
        await self.turning.readied(flow)
        self.turning.finished(flow, flow.error.msg if flow.error else "")

    def done(self) -> None:
        """Settle what still runs, and write all there is to write."""
        self.turning.close()
        if self.store:
            self.store.close()
        if self.telemetry:
            self.telemetry.close()

    def _tell(
        self, flow: http.HTTPFlow | None, record: dict[str, Any], is_new: bool
    ) -> None:
        if self.store:
            self.store.put(record)
        if self.telemetry and is_new:
            self.telemetry.put(record)
        is_fault = record["verdict"]["fault"] in FAULTS
        if flow is not None:
            line = turn_line(record, colour=False)
            is_free = flow.marked in ("", MARKERS["turn"])
            marker = MARKERS["turn"] if is_fault and is_free else None
            annotate(flow, "turn", line, marker)
        lines = ctx.options.turns_lines
        if is_new and (lines == "all" or (lines == "faults" and is_fault)):
            logger.info("turn %s", turn_line(record, colour=_takes_colour()))
        if is_new:
            said = self.summary.add(record, ctx.options.turns_summary_s)
            if said:
                logger.info("turns: %s", said)


def _takes_colour() -> bool:
    """Tell whether the log goes to a terminal; not so in mitmweb and mitmproxy."""
    is_dump = "view" not in ctx.master.addons.lookup
    return is_dump and sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _warn(text: str) -> None:
    logger.warning("turns: %s", text)


addons = [Turns()]
