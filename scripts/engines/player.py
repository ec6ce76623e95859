"""What a playing engine answers, and when; no sockets."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from typing import Any

from engines import shapes
from engines.capture import Capture, Chunk, Exchange

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"


class Player:
    """The one state of a playing engine, whatever connections it has.

    Parameters:
        capture: what is played.
        pace: factor on the recorded times; 0 plays at once.

    Raises:
        ValueError: an event of the capture is not what an OpenAI client would take.
    """

    def __init__(self, capture: Capture, *, pace: float) -> None:
        self._phase1, self._phase2 = capture.phase1, capture.phase2
        self._pace = pace
        self._identity = shapes.identity(capture.phase1)
        self._completion = shapes.as_completion(capture.phase2)
        self._rest = shapes.in_place(capture.phase2, self._identity)
        self._flips: list[asyncio.Event] = []  # one for each phase 1 that runs
        self._playing = 0  # streams of either phase

    @property
    def model(self) -> str:
        """The model that was recorded."""
        return str(self._identity["model"])

    def look(self, path: str) -> object:
        """Return the answer to a GET, or None if nothing is at that path."""
        match path:
            case "/health":
                return {"status": "ok"}
            case "/v1/models":
                return {"object": "list", "data": [{"id": self.model}]}
            case "/props":  # clients know llama.cpp by the first member
                return {"default_generation_settings": {}, "model_alias": self.model}
            case "/slots":
                slots = range(max(self._playing, 1))
                return [{"id": n, "is_processing": n < self._playing} for n in slots]
        return None

    def ask(self, path: str, body: Mapping[str, Any]) -> object:
        """Return the answer to a POST that is answered at once, or None."""
        match path:
            case "/apply-template":
                return {"prompt": shapes.rendered(body["messages"])}
            case "/v1/chat/completions/control":
                known = body["id"] == self._identity["id"] and self._flips
                if not known or body["action"] != "reasoning_end":
                    return {"success": False, "message": "nothing to control"}
                for flip in self._flips:
                    flip.set()
                return {"success": True}
        return None

    def exchange(self, path: str, body: Mapping[str, Any]) -> Exchange | None:
        """Return the phase that a POST asks for, or None if it asks for no stream.

        Raises:
            ValueError: it wants its answer in one piece, which was not recorded.
        """
        if path not in (CHAT, COMPLETIONS):
            return None
        if body.get("stream") is not True:
            raise ValueError('a capture plays streams only: set "stream": true')
        continues = path == COMPLETIONS or body["messages"][-1]["role"] == "assistant"
        return self._phase2 if continues else self._phase1

    async def play(self, path: str, exchange: Exchange) -> AsyncIterator[str]:
        """Yield the text of a stream, each piece at its time."""
        flip = asyncio.Event()
        if exchange is self._phase1:
            self._flips.append(flip)
        self._playing += 1
        try:
            chunks = self._completion if path == COMPLETIONS else exchange.chunks
            async for text in self._paced(chunks, flip):
                yield text
            if flip.is_set():
                async for text in self._paced(self._rest, asyncio.Event()):
                    yield text
        finally:
            self._playing -= 1
            if flip in self._flips:
                self._flips.remove(flip)

    async def _paced(
        self, chunks: Iterable[Chunk], flip: asyncio.Event
    ) -> AsyncIterator[str]:
        """Yield each text at its time, until `flip` is set and an event has ended."""
        before = "\n\n"
        now_s = asyncio.get_running_loop().time
        start_s = now_s()
        for arrived_s, text in chunks:
            wait_s = start_s + arrived_s * self._pace - now_s()
            with suppress(TimeoutError):
                await asyncio.wait_for(flip.wait(), max(wait_s, 0))
            if flip.is_set() and before.endswith("\n\n"):
                return
            yield text
            before = text
