"""The options that an addon declares, for the documentation."""

from __future__ import annotations

from typing import Any, NamedTuple

from mitmproxy.test import taddons


class Declared(NamedTuple):
    """One option as mitmproxy knows it."""

    name: str
    type: str
    default: str
    choices: tuple[str, ...]
    help: str


def options_of(addon: Any) -> list[Declared]:
    """Return what an addon's `load` declares, in its order."""
    with taddons.context(loadcore=False) as context:
        before = set(context.options._options)
        context.master.addons.add(addon)
        found = [
            (name, context.options._options[name])
            for name in context.options._options
            if name not in before
        ]
    return [
        Declared(
            name,
            option.typespec.__name__,
            str(option.default),
            tuple(option.choices or ()),
            option.help,
        )
        for name, option in found
    ]
