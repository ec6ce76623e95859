"""Guard: stop runaway reasoning and let the model answer, in the same response.

Example:
    mitmdump -s addons/guard.py --mode reverse:http://127.0.0.1:8000
"""

from __future__ import annotations

import logging

from mitmproxy import addonmanager, connection, ctx, exceptions, http
from mitmproxy.log import ALERT
from mitmproxy.proxy import layer

from trackside.handoff.engines import NAMES
from trackside.handoff.plan import STARTS
from trackside.handoff.record import KEY
from trackside.handoff.told import repeats, sentence
from trackside.loops import budget, monitor, tokens
from trackside.proxy import splice, stopping
from trackside.proxy.engine import upstreams
from trackside.proxy.guarding import Guarding, Policy
from trackside.proxy.notes import MARKERS, annotate
from trackside.proxy.options import refuse_unknown, refuse_unreadable, suit_long_turns
from trackside.proxy.tap import keep_body, stream_unbounded

CHOICES: dict[str, tuple[str, ...]] = {
    "guard_action": ("continue", "cut", "observe"),
    "guard_keep": ("trim", "all"),
    "guard_engine": ("auto", *NAMES),
    "guard_strategy": STARTS,
    "guard_content": ("observe", "cut", "off"),
}
"""mitmproxy shows choices, but takes any value."""

CLOSING = "I have gone over this enough. I will answer now."
logger = logging.getLogger("guard")


class Guard:
    """Options and hooks; what they lead to is in `trackside.proxy.guarding`."""

    guarding: Guarding

    def load(self, loader: addonmanager.Loader) -> None:
        """Declare the options."""
        add = loader.add_option
        add(
            "guard_action",
            str,
            "continue",
            "What a trip does: hand off, end the turn cleanly, or only report.",
            choices=CHOICES["guard_action"],
        )
        add(
            "guard_budget",
            str,
            budget.DEFAULT,
            "Reasoning tokens per effort level; 0 = no limit.",
        )
        add(
            "guard_detectors",
            str,
            "all",
            "Comma list of detectors; a - in front switches one off.",
        )
        add(
            "guard_keep",
            str,
            "trim",
            "Hand on the reasoning up to the loop's first copy, or all of it.",
            choices=CHOICES["guard_keep"],
        )
        add(
            "guard_closing",
            str,
            CLOSING,
            "Sentence put before the end of thinking when handing off.",
        )
        add(
            "guard_engine",
            str,
            "auto",
            "Which engine's continuation to use; auto asks the engine.",
            choices=CHOICES["guard_engine"],
        )
        add(
            "guard_strategy",
            str,
            "auto",
            "Which handoff to try first.",
            choices=CHOICES["guard_strategy"],
        )
        add(
            "guard_content",
            str,
            "observe",
            "What to do about loops in the answer itself.",
            choices=CHOICES["guard_content"],
        )
        add("guard_handoffs", int, 1, "Handoffs allowed per turn.")
        refuse_unreadable("guard_")

    def configure(self, updated: set[str]) -> None:
        """Check the options once; hooks may then trust them."""
        if not any(name.startswith("guard_") for name in updated):
            return
        options = ctx.options
        for name, choices in CHOICES.items():
            if (got := getattr(options, name)) not in choices:
                raise exceptions.OptionsError(
                    f"{name}: got {got!r}, want one of {', '.join(choices)}"
                )
        if options.guard_handoffs < 0:
            raise exceptions.OptionsError(
                f"guard_handoffs: got {options.guard_handoffs}, want 0 or more"
            )
        try:
            budgets = budget.parse(options.guard_budget)
            detectors = monitor.select(options.guard_detectors)
        except ValueError as error:
            raise exceptions.OptionsError(f"guard_{error}") from error
        policy = Policy(
            action=options.guard_action,
            budgets=budgets,
            detectors=detectors,
            keep=options.guard_keep,
            closing=options.guard_closing,
            engine=None if options.guard_engine == "auto" else options.guard_engine,
            strategy=options.guard_strategy,
            content=options.guard_content,
            handoffs=options.guard_handoffs,
        )
        if hasattr(self, "guarding"):
            self.guarding.policy = policy
        else:
            self.guarding = Guarding(policy)

    async def running(self) -> None:
        """Refuse to start over a misspelt option; say what is on."""
        if refuse_unknown():
            return
        suit_long_turns()
        if reason := tokens.available():
            logger.warning("guard: %s: budgets hold only where engines count", reason)
        policy = self.guarding.policy
        engines = [
            f"{await self.guarding.engine_at(upstream) or 'not recognised yet'}"
            f" at {upstream}"
            for upstream in upstreams()
        ]
        logger.info(
            "guard: on, %s; budget %s; detectors %s; engine %s",
            policy.action,
            ctx.options.guard_budget,
            ",".join(policy.detectors) or "none",
            ", ".join(engines) or "by upstream",
        )

    def next_layer(self, nextlayer: layer.NextLayer) -> None:
        """Make streams that can be continued by another request."""
        splice.install(nextlayer)

    async def client_disconnected(self, client: connection.Client) -> None:
        """Make sure that the engine of a client that left is left as well."""
        await stopping.let_upstreams_close(client)

    async def engine_stop(self, flow: http.HTTPFlow) -> None:
        """Tell an engine to stop that does not notice when its client goes."""
        await stopping.stop_engine(flow)

    async def request(self, flow: http.HTTPFlow) -> None:
        """Take charge of a turn, or write phase 2's request."""
        await self.guarding.request(flow)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Observe the stream; never buffer one."""
        self.guarding.responseheaders(flow)
        stream_unbounded(flow)

    def response(self, flow: http.HTTPFlow) -> None:
        """Tell what happened, also of a flow that is read from a file."""
        keep_body(flow)
        self._tell(flow, None)

    def error(self, flow: http.HTTPFlow) -> None:
        """Tell what happened; most clients end a turn by closing."""
        keep_body(flow)
        self._tell(flow, flow.error.msg if flow.error else "")

    def _tell(self, flow: http.HTTPFlow, error: str | None) -> None:
        record = self.guarding.finished(flow, error)
        if record is None:
            return
        flow.metadata[KEY] = record
        text = sentence(record)
        if record["tripped"]:
            logger.log(ALERT, "guard: %s", text)
            annotate(flow, "guard", text, MARKERS["guard"])
        elif repeats(record):
            logger.warning("guard: %s", text)
            annotate(flow, "guard", text, MARKERS["guard"])
        else:
            annotate(flow, "guard", text)


addons = [Guard()]
