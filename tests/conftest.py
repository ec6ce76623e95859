"""Engines that all tests share."""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings

from engine import Engine

settings.register_profile("any machine", deadline=None)  # a busy one is no fault
settings.load_profile("any machine")

ROOT = Path(__file__).parents[1]
LOOP = ROOT / "captures" / "loop.json"

type Played = Callable[..., Engine]


@pytest.fixture
def anyio_backend() -> str:
    """mitmproxy runs on asyncio alone."""
    return "asyncio"


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """The embedded engine, one slot, the same for all tests."""
    if not importlib.util.find_spec("xllamacpp"):
        pytest.skip("this platform has no embedded engine")
    with Engine.start(parallel=1) as engine:
        yield engine


@pytest.fixture
def played() -> Iterator[Played]:
    """Start engines that play a capture (the shipped one, at once)."""
    with ExitStack() as running:

        def play(capture: Path = LOOP, pace: float = 0) -> Engine:
            return running.enter_context(Engine.start(capture=capture, pace=pace))

        yield play
