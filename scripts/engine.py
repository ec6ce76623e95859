"""A real engine for demo, tests and benches, or one that plays a recording.

Example:
    .venv/bin/python scripts/engine.py --port 8000
    .venv/bin/python scripts/engine.py --capture captures/loop.json

Prints `ready http://127.0.0.1:PORT model NAME` when it answers, serves on loopback
only, and ends with the process that started it.
"""

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

from engines import embedded
from engines.child import Engine

__all__ = ["Engine"]

PARENT_CHECK_S = 0.2
DEFAULT_CTX_TOKENS = 8192


def main() -> int:
    """Run the engine until a signal comes or the parent is gone."""
    args = parse(sys.argv[1:])
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    try:
        url = embedded.start(
            port=args.port,
            template=args.template,
            ctx_tokens=args.ctx,
            parallel=args.parallel,
            verbose=args.verbose,
        )
    except (LookupError, OSError, RuntimeError) as error:
        print(f"engine: {error}", file=sys.stderr)
        return 2
    print(f"ready {url} model {embedded.MODEL}", flush=True)
    while os.getppid() == args.parent and not ended.wait(PARENT_CHECK_S):
        pass
    os._exit(0)


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument(
        "--template",
        type=Path,
        default=embedded.TEMPLATE,
        metavar="FILE",
        help="Jinja chat template",
    )
    parser.add_argument(
        "--ctx", type=int, default=DEFAULT_CTX_TOKENS, help="tokens of each slot"
    )
    parser.add_argument("--parallel", type=int, default=1, help="number of slots")
    parser.add_argument(
        "--parent",
        type=int,
        default=os.getppid(),
        metavar="PID",
        help="end when this is no longer the parent",
    )
    parser.add_argument("--verbose", action="store_true", help="llama.cpp's log")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
