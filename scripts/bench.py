"""Measures what the README claims.

Example:
    .venv/bin/python scripts/bench.py handoff --prompts 30
    .venv/bin/python scripts/bench.py loops --corpus DIR
"""

from __future__ import annotations

import argparse
import json
import sys

from rich.console import Console

from benches import diff, handoff, loops

SUBJECTS = {"diff": diff, "handoff": handoff, "loops": loops}


def main() -> int:
    """Run one bench; exit with 2 where it can't be run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    subjects = parser.add_subparsers(dest="subject", required=True)
    for name, module in SUBJECTS.items():
        subject = subjects.add_parser(name, help=module.__doc__)
        subject.add_argument("--json", action="store_true", help="print JSON")
        module.add_arguments(subject)
    args = parser.parse_args()
    module = SUBJECTS[args.subject]
    try:
        found = module.run(args, Console(stderr=True))
    except (OSError, RuntimeError, ValueError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(found, indent=1))
    else:
        Console().print(module.table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
