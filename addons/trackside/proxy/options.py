"""What every addon does with mitmproxy's options at start-up."""

from __future__ import annotations

import logging

from mitmproxy import ctx, exceptions

logger = logging.getLogger(__name__)

SILENCE_S = 6 * 3600
"""Longest silence of an engine: mitmproxy's 600 s are shorter than a long prefill."""


def refuse_unreadable(prefix: str) -> None:
    """Stop the start over a value that is not of its option's type or choices.

    Call it at the end of `load`: mitmproxy would drop the addon a moment later and run
    on without it. An ERROR before the end of `running` makes mitmdump exit.

    Parameters:
        prefix: of the options to check, as in "guard_".
    """
    options = ctx.options
    others = dict(options.deferred)
    for name in [name for name in others if name.startswith(prefix)]:
        if name not in options:
            continue
        options.deferred.clear()
        options.deferred[name] = others.pop(name)
        try:
            options.process_deferred()
        except exceptions.OptionsError as error:
            logger.error("%s: %s", name, error)
    options.deferred.clear()
    options.deferred.update(others)


def refuse_unknown() -> bool:
    """Stop the start over an option nobody declared; tell whether there was one.

    mitmproxy keeps a mistyped `--set` silently and runs without it; an ERROR in
    `running` makes mitmdump exit.
    """
    unknown = sorted(ctx.options.deferred)
    for name in unknown:
        logger.error(
            "trackside: unknown option %s (misspelt, or its addon is not loaded)", name
        )
    return bool(unknown)


def suit_long_turns() -> None:
    """Let an engine be silent for hours, unless the user set a limit."""
    if not ctx.options.has_changed("tcp_timeout"):
        ctx.options.update(tcp_timeout=SILENCE_S)


def connect_lazily() -> None:
    """Open connections to the engine with the request, unless the user chose.

    An engine that is down is then answered for with a 502 and seen by every addon;
    mitmproxy's own way is to hang up on the client without a word.
    """
    if not ctx.options.has_changed("connection_strategy"):
        ctx.options.update(connection_strategy="lazy")
