"""What was measured of one turn, before anything is judged."""

from typing import Literal

import msgspec

from trackside.ledger.account import Counts, Stage
from trackside.ledger.clocks import Clocks
from trackside.ledger.outline import Outline

type By = Literal["engine", "client", "guard", "error"]


class End(msgspec.Struct, frozen=True):
    """How a turn ended."""

    by: By  # error: the engine's status, its error frame, or a connection that broke
    stage: Stage  # how far it had come
    finish_reason: str | None = None
    error: str | None = None  # a status, a code, or what broke; never the text sent


class Guarded(msgspec.Struct, frozen=True):
    """What the guard did to a turn, from its metadata."""

    phase: int  # 1: the client's flow, 2: a flow that continues one
    other: str | None  # id of the flow of the other phase
    tripped: bool = False
    reason: str | None = None
    spent_tokens: int | None = None  # reasoning generated before the trip


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """One turn. Instants are Unix seconds, durations count from the request's end."""

    flow: str
    run: str = ""  # of the proxy: thread names begin anew with each
    upstream: str
    api: str
    engine: str | None = None  # None: not recognised
    model: str = ""
    agent: str = ""
    session: str = ""
    streamed: bool = True
    status: int | None = None  # None: no response came
    started_at: float  # the request was fully sent
    duration_s: float
    ttfb_s: float | None = None  # response headers are no byte
    ttft_s: float | None = None  # None: no piece came, or nobody was there to see when
    gap_p50_ms: float | None = None
    gap_p99_ms: float | None = None
    output_tokens_per_s: float | None = None
    in_flight: int = 0  # other turns at the upstream when this one came
    request_bytes: int = 0
    digest: int = 0  # of the request's body; 0: not read
    outline: Outline = Outline()
    usage: Counts = Counts()
    clocks: Clocks = Clocks()
    end: End
    guard: Guarded | None = None
    max_tokens: int | None = None
    keep_alive_s: float | None = None  # how long the request lets an idle model stay
    replica: str = ""  # what tells replicas behind one upstream apart
    chunks: list[list[int]] = msgspec.field(default_factory=list)

    @property
    def ended_at(self) -> float:
        """Unix seconds."""
        return self.started_at + self.duration_s

    @property
    def is_whole(self) -> bool:
        """The engine said all it had to say."""
        return self.end.stage == "complete" and self.end.by in ("engine", "guard")

    @property
    def is_phase2(self) -> bool:
        """The guard asked, not an agent."""
        return self.guard is not None and self.guard.phase == 2

    @property
    def prefill_s(self) -> float | None:
        """Seconds until the prompt was read, by the engine's word or by the clock.

        By the clock only where no other turn can have kept the engine busy.
        """
        clocks = self.clocks
        if clocks.prefill_s is not None:
            return clocks.prefill_s
        waited_s = (clocks.load_s or 0.0) + (clocks.queue_s or 0.0)
        if clocks.first_token_s is not None:
            return max(clocks.first_token_s - waited_s, 0.0)
        if self.ttft_s is None or self.in_flight:
            return None
        return max(self.ttft_s - waited_s, 0.0)
