"""What a turn says about the verdicts of earlier ones."""

from collections.abc import Iterable, Sequence

import msgspec

from trackside.ledger.case import RANK, Confidence
from trackside.ledger.turn import Judged

_SURER: dict[Confidence | None, Confidence] = {"possible": "likely", "likely": "proven"}

type Word = tuple[Confidence, str]
"""How sure one is by now, and what made one so."""


def reconsider(turn: Judged, earlier: Iterable[Judged]) -> list[Judged]:
    """Return the earlier turns that this one sheds light on, with their new verdicts.

    A hit after a longer pause confirms that the turn before had come too soon. Threads
    that are cold as well, and heal, confirm that the engine was restarted; one that
    still hits speaks against it. O(turns squared).

    Parameters:
        earlier: turns that may be concerned, in their order, each with the verdict it
            has by now.
    """
    there = [one for one in earlier if one.facts.upstream == turn.facts.upstream]
    words = ((one, _raced(turn, one) or _restarted(turn, one, there)) for one in there)
    return [_with(one, word) for one, word in words if word]


def _raced(turn: Judged, one: Judged) -> Word | None:
    verdict = one.verdict
    if verdict.cause != "publish_race" or verdict.confidence not in _SURER:
        return None
    mine, its = turn.gap_s, one.gap_s
    is_later = mine is not None and its is not None and mine > its
    if turn.thread != one.thread or not is_later or turn.state != "hit":
        return None
    return _SURER[verdict.confidence], f"a later turn after {mine:.1f} s hit"


def _restarted(turn: Judged, one: Judged, there: Sequence[Judged]) -> Word | None:
    confidence = one.verdict.confidence
    if one.verdict.cause != "engine_restart" or confidence is None:
        return None
    if turn.thread != one.thread and _is_untouched(turn, one):
        still = f"but thread {turn.thread} still hit"
        is_news = still not in one.verdict.because
        return ("possible", still) if is_news else None
    turns = (*there, turn)
    cold = {j.thread for j in turns if _is_cold_too(j, one)}
    healed = {j.thread for j in turns if j.state == "hit" and _is_behind(j, one)}
    if "still hit" in one.verdict.because or not cold:
        return None
    others = f"thread{'s' * (len(cold) > 1)} {', '.join(sorted(map(str, cold)))}"
    said = f"{others} {'were' if len(cold) > 1 else 'was'} cold as well"
    is_healed = one.thread in healed and bool(cold & healed)
    word: Word = ("likely", said)
    if len(cold) > 1:
        word = ("proven", said)
    elif is_healed:
        word = ("proven", f"both it and {others} were cold once and hit again")
    return word if RANK[word[0]] > RANK[confidence] else None


def _is_behind(turn: Judged, one: Judged) -> bool:
    return turn.facts.started_at > one.facts.started_at


def _is_cold_too(turn: Judged, one: Judged) -> bool:
    """Tell whether another thread lost all at what may be the same instant."""
    is_restart = turn.verdict.cause == "engine_restart" and turn.thread != one.thread
    return (
        is_restart
        and _saw_before(turn) < one.facts.started_at
        and _saw_before(one) < turn.facts.started_at
    )


def _is_untouched(turn: Judged, one: Judged) -> bool:
    """Tell whether another thread hits on what is older than the restart would be."""
    is_hit = turn.state == "hit" and turn.source != "inferred" and turn.cached
    is_older = turn.gap_s is not None and _saw_before(turn) <= _saw_before(one)
    return bool(is_hit) and is_older and _is_behind(turn, one)


def _saw_before(turn: Judged) -> float:
    """Return when the turn before it ended, in Unix seconds: then all was well."""
    return turn.facts.started_at - (turn.gap_s or 0.0)


def _with(judged: Judged, word: Word) -> Judged:
    confidence, because = word
    verdict = msgspec.structs.replace(
        judged.verdict,
        confidence=confidence,
        because=f"{judged.verdict.because}; {because}",
    )
    return msgspec.structs.replace(judged, verdict=verdict)
