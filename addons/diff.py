"""Diff: where an agent breaks its prompt prefix, and why.

Example:
    mitmdump -s addons/diff.py --mode reverse:http://127.0.0.1:8000
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from mitmproxy import addonmanager, ctx, exceptions, http

from trackside.proxy.diffing import Diffing
from trackside.proxy.options import refuse_unknown, refuse_unreadable, suit_long_turns
from trackside.proxy.tap import keep_body, stream_unbounded

logger = logging.getLogger("diff")


class Diff:
    """Options and hooks; what they lead to is in `trackside.proxy.diffing`."""

    diffing: Diffing

    def load(self, loader: addonmanager.Loader) -> None:
        """Declare the options."""
        loader.add_option(
            "diff_excerpts",
            bool,
            False,
            "Show text around a break; off: paths, offsets and lengths only.",
        )
        loader.add_option(
            "diff_memory_mb",
            int,
            256,
            "Request bodies kept for comparison, in megabytes.",
        )
        loader.add_command("diff.statistics", self.statistics)
        refuse_unreadable("diff_")

    def configure(self, updated: set[str]) -> None:
        """Check the options once; hooks may then trust them."""
        if not updated & {"diff_excerpts", "diff_memory_mb"}:
            return
        memory_mb = ctx.options.diff_memory_mb
        if memory_mb < 1:
            raise exceptions.OptionsError(
                f"diff_memory_mb: got {memory_mb}, want 1 or more"
            )
        excerpts = ctx.options.diff_excerpts
        if hasattr(self, "diffing"):
            self.diffing.differ.adjust(memory_mb << 20, excerpts=excerpts)
        else:
            self.diffing = Diffing(memory_mb << 20, excerpts=excerpts)

    def running(self) -> None:
        """Refuse to start over a misspelt option; say what is on."""
        if refuse_unknown():
            return
        suit_long_turns()
        logger.info(
            "diff: on, %d MB kept for comparison, %s",
            ctx.options.diff_memory_mb,
            "excerpts shown" if ctx.options.diff_excerpts else "no text shown",
        )

    def request(self, flow: http.HTTPFlow) -> None:
        """Diff the request as the client sent it."""
        self.diffing.request(flow)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Observe the stream; never buffer one."""
        self.diffing.responseheaders(flow)
        stream_unbounded(flow)

    async def response(self, flow: http.HTTPFlow) -> None:
        """Note how the turn ended."""
        keep_body(flow)
        await self.diffing.finished(flow)

    async def error(self, flow: http.HTTPFlow) -> None:
        """Note how the turn ended; most clients end one by closing."""
        keep_body(flow)
        await self.diffing.finished(flow)

    def statistics(self) -> Sequence[str]:
        """Figures of each thread and agent so far, a line each."""
        return self.diffing.statistics()

    async def done(self) -> None:
        """Finish what waits for its turn; tell the figures of threads and agents."""
        await self.diffing.done()


addons = [Diff()]
