"""A real engine for demo, tests and benches, or one that plays a recording.

Example:
    .venv/bin/python scripts/engine.py --port 8000
    .venv/bin/python scripts/engine.py --capture captures/loop.json --pace 0.5

Prints `ready http://127.0.0.1:PORT model NAME` when it answers, serves on loopback
only, and ends with the process that started it.
"""

import argparse
import math
import os
import signal
import sys
import threading
from pathlib import Path

from engines import embedded, playing
from engines.child import Engine

__all__ = ["Engine"]

PARENT_CHECK_S = 0.2
CTX_TOKENS = 8192


def main() -> int:
    """Run an engine until a signal comes or the parent is gone."""
    args = parse(sys.argv[1:])
    told_to_end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: told_to_end.set())
    try:
        url, model = start(args)
    except LookupError as error:
        print(
            f"engine: {error}: run scripts/setup, or play a recording instead with"
            " --capture captures/loop.json",
            file=sys.stderr,
        )
        return 2
    except (OSError, RuntimeError, ValueError) as error:
        print(f"engine: {error}", file=sys.stderr)
        return 2
    print(f"ready {url} model {model}", flush=True)
    while os.getppid() == args.parent and not told_to_end.wait(PARENT_CHECK_S):
        pass
    # Not by way of llama.cpp's own ending, which waits 30 s for a running stream.
    os._exit(0)


def start(args: argparse.Namespace) -> tuple[str, str]:
    """Start the engine that was asked for; return its URL and model."""
    if args.capture:
        return playing.start(args.capture, port=args.port, pace=args.pace)
    return embedded.start(
        port=args.port,
        template=args.template,
        ctx_tokens=args.ctx,
        parallel=args.parallel,
        verbose=args.verbose,
    )


def parse(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=port, default=0, help="default: a free one")
    parser.add_argument(
        "--parent",
        type=int,
        default=os.getppid(),
        metavar="PID",
        help="end when this is not the parent any more; default: who started it",
    )
    model = parser.add_argument_group("the embedded engine")
    model.add_argument(
        "--template",
        type=Path,
        default=embedded.TEMPLATE,
        metavar="FILE",
        help="Jinja chat template; default: one that opens <think>",
    )
    model.add_argument(
        "--ctx",
        type=count,
        default=CTX_TOKENS,
        metavar="TOKENS",
        help="context of each slot, default %(default)s",
    )
    model.add_argument(
        "--parallel", type=count, default=1, metavar="N", help="slots, default 1"
    )
    model.add_argument("--verbose", action="store_true", help="llama.cpp's log")
    recording = parser.add_argument_group("a recording")
    recording.add_argument(
        "--capture", type=Path, metavar="FILE", help="play this instead of a model"
    )
    recording.add_argument(
        "--pace",
        type=factor,
        default=1.0,
        metavar="FACTOR",
        help="on the recorded times; 0 plays at once",
    )
    return parser.parse_args(arguments)


def port(text: str) -> int:
    """Read a TCP port; 0 stands for a free one."""
    if not 0 <= (number := int(text)) <= 65535:
        raise ValueError
    return number


def count(text: str) -> int:
    """Read a number of at least 1."""
    if (number := int(text)) < 1:
        raise ValueError
    return number


def factor(text: str) -> float:
    """Read a finite factor of at least 0."""
    if not 0 <= (number := float(text)) < math.inf:
        raise ValueError
    return number


if __name__ == "__main__":
    sys.exit(main())
