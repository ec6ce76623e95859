"""Text completions that were streamed for the guard's sake, made whole again.

Source: llama.cpp tools/server (2026-10).
"""

from __future__ import annotations

from typing import Any

import msgspec

from trackside.handoff.whole import BROKEN_OFF, Object, Objects, failed
from trackside.wire.leaves import count_of, object_of

CUT_OFF = "\ufffd"
"""What llama.cpp makes, in whole answers alone, of a character that the limit cut."""


class WholeText:
    """A text completion of one choice, as llama.cpp makes it."""

    media_type = "application/json; charset=utf-8"

    def __init__(self) -> None:
        self._objects = Objects()
        self._texts: list[str] = []
        self._last: Object = {}  # the event that has the finish
        self._told: int | None = None  # tokens whose text was told
        self._error: Any = None

    def add(self, data: bytes) -> None:
        """See `Whole.add`. O(length)."""
        for event in self._objects.read(data):
            self._error = event.get("error", self._error)
            match event:
                case {"choices": [{"text": str(text)} as choice, *_]}:
                    self._texts.append(text)
                    if choice.get("finish_reason"):
                        self._last = {**event, "choices": choice}
                    else:
                        self._told = _predicted(event)

    def body(self) -> tuple[int, bytes]:
        """See `Whole.body`."""
        if self._error is not None or not self._last:
            return failed(self._error or BROKEN_OFF)
        choice = self._last["choices"]
        if choice["finish_reason"] == "length":
            self._texts.append(_lost(self._told, _predicted(self._last)))
        choice = {**choice, "text": "".join(self._texts)}
        return 200, msgspec.json.encode({**self._last, "choices": [choice]})


def _predicted(event: Object) -> int | None:
    return count_of(object_of(event.get("timings")).get("predicted_n"))


def _lost(told: int | None, predicted: int | None) -> str:
    """Return what stands for tokens that were predicted at last but never told.

    Nothing is known of a stream that another request went on with.
    """
    return CUT_OFF if told and predicted and told < predicted else ""


class WholeNative:
    """What llama.cpp's own `/completion` answers: its last frame has nearly all."""

    media_type = "application/json; charset=utf-8"

    def __init__(self) -> None:
        self._objects = Objects()
        self._texts: list[str] = []
        self._last: Object = {}
        self._told: int | None = None  # tokens whose text was told
        self._error: Any = None

    def add(self, data: bytes) -> None:
        """See `Whole.add`. O(length)."""
        for frame in self._objects.read(data):
            self._error = frame.get("error", self._error)
            if isinstance(text := frame.get("content"), str):
                self._texts.append(text)
            if frame.get("stop") is True:
                self._last = frame
            else:
                self._told = count_of(frame.get("tokens_predicted"))

    def body(self) -> tuple[int, bytes]:
        """See `Whole.body`."""
        if self._error is not None or not self._last:
            return failed(self._error or BROKEN_OFF)
        if self._last.get("stop_type") == "limit":
            predicted = count_of(self._last.get("tokens_predicted"))
            self._texts.append(_lost(self._told, predicted))
        body = {**self._last, "content": "".join(self._texts)}
        if isinstance(settings := body.get("generation_settings"), dict):
            body["generation_settings"] = {**settings, "stream": False}
        return 200, msgspec.json.encode(body)
