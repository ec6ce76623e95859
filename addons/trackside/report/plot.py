"""One picture: the turns of a thread, by context and wait, coloured by verdict."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from trackside.report.columns import seconds
from trackside.report.line import tokens
from trackside.report.tables import context_of

WIDTH, HEIGHT, MARGIN = 900, 150, 5
COLOURS = {
    "healthy": "#2a9d5c",
    "harness": "#d98e04",
    "engine": "#d1383d",
    "template": "#9b51c9",
    "unexplained": "#2b8c9e",
    "none": "#8a8f98",
}


def thread_plot(turns: Sequence[Mapping[str, Any]]) -> str:
    """Return a figure: bars are contexts, their dark part what had to be prefilled.

    Dots are TTFT. What nobody told is not drawn as zero: without a TTFT there is no
    dot, and a bar is hollow where the cache is unknown. Turns stand in the order of
    `turns`, at least one.
    """
    contexts = [context_of(turn) for turn in turns]
    waits = [turn["ttft_s"] for turn in turns]
    told = [wait for wait in waits if wait is not None]
    top, longest = max(contexts) or 1, max(told, default=0.0) or 1.0
    step = (WIDTH - 2 * MARGIN) / len(turns)
    tall, foot = HEIGHT - 2 * MARGIN, HEIGHT - MARGIN
    width = max(step * 0.8, 0.5)
    scale = f"contexts up to {tokens(max(contexts))} tokens, first tokens "
    scale += f"after up to {seconds(max(told))}" if told else "not timed"
    parts = [
        f"<figure><figcaption>{scale}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    ]
    for place, (turn, context, wait) in enumerate(
        zip(turns, contexts, waits, strict=True)
    ):
        x = MARGIN + place * step
        said = escape(f"{turn['verdict']['text']} (ttft {seconds(wait)})")
        parts.append(f"<g><title>#{turn['index'] or place + 1}: {said}</title>")
        colour = COLOURS[turn["verdict"]["fault"]]
        cached, high = turn["cache"]["cached_tokens"], context / top * tall
        if cached is None:
            parts.append(
                _bar(x, foot, width, high, f'class="hollow" stroke="{colour}"')
            )
        else:
            kept = min(cached, context) / top * tall
            parts.append(_bar(x, foot, width, high, f'fill="{colour}"'))
            parts.append(_bar(x, foot, width, kept, 'class="kept"'))
        if wait is not None:
            middle, above = x + width / 2, foot - wait / longest * tall
            parts.append(f'<circle cx="{middle:.1f}" cy="{above:.1f}" r="3"/>')
        parts.append("</g>")
    return "".join([*parts, "</svg></figure>"])


def _bar(x: float, foot: float, width: float, high: float, paint: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{foot - high:.1f}" width="{width:.1f}"'
        f' height="{high:.1f}" {paint}/>'
    )
