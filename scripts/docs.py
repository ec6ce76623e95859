"""Writes the option tables of the README from what the addons declare.

Example:
    .venv/bin/python scripts/docs.py
    .venv/bin/python scripts/docs.py --check
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

from trackside.proxy.declared import Declared, options_of

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
_MARKED = re.compile(r"(<!-- options (\w+) -->\n).*?(<!-- /options -->)", re.DOTALL)


def main() -> int:
    """Write the tables; with --check, exit with 1 if that would change anything."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing")
    args = parser.parse_args()
    before = README.read_text()
    after = _MARKED.sub(lambda match: match[1] + table(match[2]) + match[3], before)
    if args.check:
        return int(before != after)
    README.write_text(after)
    return 0


def table(addon: str) -> str:
    """Return the Markdown table of one addon's options."""
    (instance,) = load(addon).addons
    rows = [row(option) for option in options_of(instance)]
    return "\n".join(
        ["| option | default | what it does |", "|---|---|---|", *rows, ""]
    )


def load(addon: str) -> ModuleType:
    """Import an entry script by its path: commands bear the same names."""
    path = ROOT / "addons" / f"{addon}.py"
    spec = importlib.util.spec_from_file_location(f"addon_{addon}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def row(option: Declared) -> str:
    """Return one option's row."""
    kind = " \\| ".join(option.choices) or option.type
    return f"| `{option.name}` ({kind}) | `{option.default}` | {option.help} |"


if __name__ == "__main__":
    sys.exit(main())
