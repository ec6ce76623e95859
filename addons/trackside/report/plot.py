"""One picture: the turns of a thread, by context and wait, coloured by verdict."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from trackside.report.columns import seconds
from trackside.report.line import tokens
from trackside.report.tables import context_of

WIDTH, HEIGHT, MARGIN = 900, 180, 44
COLOURS = {
    "healthy": "#2a9d5c",
    "harness": "#d98e04",
    "engine": "#d1383d",
    "template": "#9b51c9",
    "unexplained": "#2b8c9e",
    "none": "#8a8f98",
}


def thread_plot(turns: Sequence[Mapping[str, Any]]) -> str:
    """Return an SVG: bars are contexts, their dark part what had to be prefilled.

    Dots are TTFT. Turns stand in the order of `turns`, at least one.
    """
    contexts = [context_of(turn) for turn in turns]
    waits = [turn["ttft_s"] or 0.0 for turn in turns]
    top, longest = max(contexts) or 1, max(waits) or 1.0
    step = (WIDTH - 2 * MARGIN) / len(turns)
    tall = HEIGHT - 2 * MARGIN / 2
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f'<text x="4" y="14">{tokens(top)}</text>',
        f'<text x="{WIDTH - 4}" y="14" text-anchor="end">{seconds(longest)}</text>',
    ]
    for place, (turn, context, wait) in enumerate(
        zip(turns, contexts, waits, strict=True)
    ):
        x, width = MARGIN + place * step, max(step * 0.8, 0.5)
        cached = min(turn["cache"]["cached_tokens"] or 0, context)
        colour = COLOURS[turn["verdict"]["fault"]]
        foot = HEIGHT - MARGIN / 2
        high, kept = context / top * tall, cached / top * tall
        said = escape(f"{turn['verdict']['text']} (ttft {seconds(turn['ttft_s'])})")
        parts += [
            f"<g><title>#{turn['index'] or place + 1}: {said}</title>",
            f'<rect x="{x:.1f}" y="{foot - high:.1f}" width="{width:.1f}"'
            f' height="{high:.1f}" fill="{colour}"/>',
            f'<rect x="{x:.1f}" y="{foot - kept:.1f}" width="{width:.1f}"'
            f' height="{kept:.1f}" fill="#fff" fill-opacity="0.6"/>',
            f'<circle cx="{x + width / 2:.1f}" cy="{foot - wait / longest * tall:.1f}"'
            ' r="2.5"/></g>',
        ]
    return "".join([*parts, "</svg>"])
