"""One guarded turn: watches phase 1, decides, and tells what was done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from mitmproxy import http

from trackside.handoff import in_place, record
from trackside.handoff.asks import Asked
from trackside.handoff.dialects import writer
from trackside.handoff.phases import Phase1
from trackside.handoff.plan import hands_on, order
from trackside.handoff.strategy import GUESSES_PROMPT, LABELS_BY_PROMPT, Turn
from trackside.handoff.text import Opened
from trackside.handoff.usage import Counts
from trackside.handoff.watch import Trip, Watch, kept_reasoning
from trackside.handoff.whole import Whole
from trackside.handoff.writing import Form
from trackside.loops.tokens import count
from trackside.proxy.continuing import Continuing, Ways
from trackside.proxy.engine import ask_for
from trackside.proxy.tap import tap_of
from trackside.wire.pieces import Content, Start, ToolCall
from trackside.wire.request import Request
from trackside.wire.stream import Message

IN_PLACE_PATIENCE_TOKENS = 96
"""Reasoning after a granted `reasoning_end` that shows it had no effect."""

TELLING_TOKENS = 16
"""Less reasoning than this is too little to tell from the cache if it was found."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The guard's options, as far as a running turn needs them."""

    action: str
    keep: str
    closing: str
    strategy: str
    content: str
    handoffs: int


class Guarded:
    """Observes the client's flow (see `tap.Observer`) and starts the handoff.

    Parameters:
        form: how the response goes on in its dialect; None for chat.
        opened: reads text whose prompt has opened the reasoning; None for the rest.
        whole: makes the body of a turn that the client did not want streamed.
        turn: makes phase 1 as strategies see it; called at the trip, when the engine
            is known better than at the request.
        limit_tokens: the reasoning budget, None for no limit.
        leading: what this model's parser is known to eat in front of reasoning; None
            if it is not known.
        watch: makes a watch with a limit in tokens.
        register: told of each phase-2 flow before it runs.
    """

    def __init__(
        self,
        flow: http.HTTPFlow,
        *,
        settings: Settings,
        request: Request,
        form: Form | None,
        opened: Opened | None,
        asked: Asked,
        whole: Whole | None,
        turn: Callable[[], Turn],
        limit_tokens: int | None,
        leading: str | None,
        watch: Callable[[int | None], Watch],
        register: Callable[[http.HTTPFlow, Continuing], None],
    ) -> None:
        self.flow, self.settings, self.request = flow, settings, request
        self.asked, self.whole = asked, whole
        self.limit_tokens, self.leading = limit_tokens, leading
        self.watch = watch(limit_tokens)
        self.trip: Trip | None = None
        self.continuing: Continuing | None = None
        self._turn, self._new_watch, self._register = turn, watch, register
        self._form, self._opened, self._tripped_s = form, opened, 0.0
        self._ttft_s: float | None = None
        self._kept_tokens = 0
        self._control: asyncio.Task[None] | None = None
        self._control_error: str | None = None
        self._granted_at: int | None = None  # reasoning tokens when ended in place

    def see(self, messages: Sequence[Message], at_s: float) -> None:
        """Read phase 1's messages; act on a trip once all of them are read."""
        for message in messages:
            if self._form:
                self._form.follow(message)
            pieces = message.pieces
            if self._opened:
                pieces = self._opened.place(pieces)
            trip = self.watch.read(pieces)
            if trip and self.trip is None:
                self.trip, self._tripped_s = trip, at_s
            answers = any(isinstance(p, Content | ToolCall) for p in pieces)
            if self._control and answers and self._ttft_s is None:
                self._ttft_s = at_s - self._tripped_s
        if self.trip is None or self.continuing or self.settings.action == "observe":
            return
        if not self.watch.may_act:
            return
        if self.trip.channel == "content":
            if self.settings.content == "cut":
                self._hand_off(self._kept(), ())
        elif self.watch.stage == "reasoning" and not self._ends_in_place():
            turn = self._kept()
            self._hand_off(turn, self._ways(turn))

    def _ends_in_place(self) -> bool:
        """Have the engine end it in place; False once that can't work any more."""
        if not self.asked.armed:
            return False
        if self._control is None:
            self._control = asyncio.ensure_future(self._end_in_place())
        if self._granted_at is None:
            return self._control_error is None
        since = self.watch.reasoning_tokens - self._granted_at
        return since < IN_PLACE_PATIENCE_TOKENS

    async def _end_in_place(self) -> None:
        start = self.watch.start
        call = in_place.call(start.id if start else "")
        try:
            _, _, body = await ask_for(self.flow, call.path, body=call.body)
            self._control_error = in_place.refusal(body)
        except OSError as error:
            self._control_error = str(error)
        if self._control_error is None:
            self._granted_at = self.watch.reasoning_tokens

    def _kept(self) -> Turn:
        assert self.trip
        trim = self.settings.keep == "trim"
        kept = kept_reasoning(self.watch.reasoning, self.trip.finding, trim=trim)
        if self.leading is None:
            self.leading = "\n" if self.watch.swallowed else ""
        if kept[:1].isspace():
            self.leading = ""  # nothing was eaten
        self._kept_tokens = count(kept)
        kept = f"{self.leading}{kept}\n\n{self.settings.closing}" if kept else ""
        spent = self.watch.counts.completion or self.watch.reasoning_tokens
        return msgspec.structs.replace(
            self._turn(),
            kept=kept.rstrip(),
            spent_tokens=spent,
            prompt_tokens=self.watch.counts.prompt,
        )

    def _ways(self, turn: Turn) -> tuple[str, ...]:
        """Return the ways that may be tried.

        None without reasoning to hand on (llama.cpp then loses the assistant's
        header), none behind an assistant message (two in a row are refused).
        """
        told_to = self.settings.action == "continue"
        if not told_to or not turn.kept or self.request.last_role == "assistant":
            return ()
        return tuple(order(turn, self.settings.strategy))

    def _hand_off(self, turn: Turn, names: tuple[str, ...]) -> None:
        tap = tap_of(self.flow)
        if tap is None:
            return
        watch, counts = self.watch, self.counts
        if (turn.engine, self.request.dialect) in GUESSES_PROMPT:
            counts = msgspec.structs.replace(counts, prompt=None)
        phase1 = Phase1(
            start=watch.start or Start("", "", 0),
            kept=turn.kept,
            kept_tokens=count(turn.kept),
            counts=counts,
            timings=watch.timings,
            wants_usage=self.request.include_usage,
            wants_running_usage=self.request.continuous_usage,
            closes_inline="\n</think>\n\n" if watch.inline else "",
            trusts_labels=turn.engine in LABELS_BY_PROMPT,
        )
        cuts = self.settings.content == "cut"
        tap.handoff = self.continuing = Continuing(
            self.flow,
            turn=turn,
            write=lambda way: writer(
                phase1 if hands_on(way) else phase1.alone(), self._form, turn.engine
            ),
            ways=Ways(names, self.settings.handoffs, cuts),
            watch=lambda: self._new_watch(None),
            register=self._register,
        )

    @property
    def counts(self) -> Counts:
        """What phase 1 used, by the engine's counts where it told them."""
        told, tokens = self.watch.counts, self.watch.reasoning_tokens
        # Anthropic tells a count of none at the start
        completion = max(told.completion or 0, tokens)
        return Counts(told.prompt, completion, tokens, told.cached)

    @property
    def lost_reasoning(self) -> bool | None:
        """Phase 2's cache held the prompt but not the reasoning. None: not known."""
        prompt, continuing = self.watch.counts.prompt, self.continuing
        cached = continuing.writer.counts.cached if continuing else None
        if cached is None or prompt is None or self._kept_tokens < TELLING_TOKENS:
            return None
        return cached < prompt + self._kept_tokens // 2

    def record(self, by: str) -> dict[str, Any]:
        """Return the flow's `trackside.guard` metadata; `by` ended the turn."""
        done = self.continuing
        strategy = done.strategy if done else "in_place" if self._control else None
        action = self.settings.action if strategy else "observe"
        finish = done.writer.finish_reason if done else self.watch.finish_reason
        return record.guard_record(
            self.watch,
            self.request,
            self.trip,
            budget_tokens=self.limit_tokens,
            action=action if self.trip else None,
            strategy=strategy,
            handoff=self._handoff(strategy) if strategy else None,
            usage=record.usage_dict(self.counts, done.writer if done else None),
            end={"finish_reason": finish, "by": by},
        )

    def _handoff(self, strategy: str) -> dict[str, Any]:
        done = self.continuing
        if done is None:
            return record.handoff_dict(
                None,
                ok=self._ttft_s is not None,
                error=self._control_error,
                flow_id=None,
                ttft_s=self._ttft_s,
            )
        error = done.error or done.writer.error or self._control_error
        return record.handoff_dict(
            done.writer,
            ok=strategy != "end" and done.writer.error is None,
            error=error,
            flow_id=done.phase2.id if done.phase2 else None,
            ttft_s=done.ttft_s,
            way=done.way,
        )
