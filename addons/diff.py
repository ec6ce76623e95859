"""Diff: where an agent breaks its prompt prefix, and why.

Example:
    mitmdump -s addons/diff.py --mode reverse:http://127.0.0.1:8000
"""

from __future__ import annotations

import logging

from mitmproxy import addonmanager, ctx, exceptions, http

from trackside.proxy.diffing import Diffing
from trackside.proxy.options import refuse_unknown, refuse_unreadable, suit_long_turns
from trackside.proxy.tap import stream_unbounded

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
        """Never buffer a stream."""
        stream_unbounded(flow)

    async def response(self, flow: http.HTTPFlow) -> None:
        """Note how the turn ended."""
        await self.diffing.finished(flow)

    async def error(self, flow: http.HTTPFlow) -> None:
        """Note how the turn ended; most clients end one by closing."""
        await self.diffing.finished(flow)

    async def done(self) -> None:
        """Finish what waits for its turn."""
        await self.diffing.done()


addons = [Diff()]
