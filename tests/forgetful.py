"""The embedded engine without its memory of slots that were taken over.

With `--idle SECONDS` it also unloads the model after a pause, as engines do that share
a machine. Other options are those of `scripts/engine.py`.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parents[1] / "scripts"


@contextmanager
def forgetful(port: int, idle_s: int | None = None) -> Iterator[str]:
    """Run one on a port until the block ends; yield its URL."""
    command = [sys.executable, __file__, "--port", str(port)]
    command += ["--idle", str(idle_s)] if idle_s else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            ready = process.stdout.readline()
            assert ready.startswith("ready "), "the engine did not start"
            yield ready.split()[1]
        finally:
            process.kill()


def main() -> int:
    """Run it until the parent is gone."""
    sys.path.insert(0, str(SCRIPTS))
    engine = importlib.import_module("engine")
    importlib.import_module("engines.embedded").PROMPT_CACHE_MIB = 0
    if "--idle" in sys.argv:
        at = sys.argv.index("--idle")
        idle_s = int(sys.argv[at + 1])
        del sys.argv[at : at + 2]
        llama = importlib.import_module("xllamacpp")
        plain = llama.CommonParams

        def params() -> Any:
            made = plain()
            made.sleep_idle_seconds = idle_s
            return made

        llama.CommonParams = params
    return int(engine.main())


if __name__ == "__main__":
    sys.exit(main())
