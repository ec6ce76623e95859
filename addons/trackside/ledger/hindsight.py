"""What a turn says about the verdicts of earlier ones."""

from collections.abc import Iterable

import msgspec

from trackside.ledger.case import Confidence
from trackside.ledger.turn import Judged
from trackside.ledger.verdict import Verdict

_SURER: dict[Confidence | None, Confidence] = {"possible": "likely", "likely": "proven"}


def reconsider(turn: Judged, earlier: Iterable[Judged]) -> list[Judged]:
    """Return the earlier turns that this one makes surer of, with their new verdicts.

    A hit after a longer pause confirms that the turn before had come too soon; a thread
    that is cold as well confirms that the engine was restarted.

    Parameters:
        earlier: turns that may be concerned, each with the verdict it has by now.
    """
    confirmed = ((one, _confirms(turn, one)) for one in earlier)
    return [_surer(one, because) for one, because in confirmed if because]


def _confirms(turn: Judged, one: Judged) -> str | None:
    cause, confidence = one.verdict.cause, one.verdict.confidence
    if confidence not in _SURER:
        return None
    if cause == "publish_race" and turn.thread == one.thread:
        mine, its = turn.gap_s, one.gap_s
        is_later = mine is not None and its is not None and mine > its
        if is_later and turn.state == "hit":
            return f"a later turn after {mine:.1f} s hit"
    both = cause == "engine_restart" and turn.verdict.cause == "engine_restart"
    if both and turn.thread != one.thread and confidence == "possible":
        return f"thread {turn.thread} was cold as well"
    return None


def _surer(judged: Judged, because: str) -> Judged:
    verdict = judged.verdict
    new: Verdict = msgspec.structs.replace(
        verdict,
        confidence=_SURER[verdict.confidence],
        because=f"{verdict.because}; {because}",
    )
    return msgspec.structs.replace(judged, verdict=new)
