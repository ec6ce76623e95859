"""Reasoning that an engine without a reasoning parser leaves inside the content."""

from typing import Literal

type Part = tuple[Literal["reasoning", "content"], str]

THINK_TAGS: dict[str, str] = {
    "<think>": "</think>",  # Qwen, DeepSeek, GLM, MiniMax and most others
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<seed:think>": "</seed:think>",  # Seed-OSS
    "[THINK]": "[/THINK]",  # Magistral, Ministral
    "◁think▷": "◁/think▷",  # Kimi-VL
    "<|START_THINKING|>": "<|END_THINKING|>",  # Command A
    "<|channel|>analysis<|message|>": "<|end|>",  # gpt-oss
    "<|channel>thought": "<channel|>",  # Gemma 4
}
"""Opener to closer."""

_MAX_LEAD_CHARS = 64  # white space before an opener; more than that is an answer


class ThinkSplitter:
    """Tells inline reasoning from the answer, in one choice's content.

    An opener counts only as the first thing in the content, after white space at
    most; later ones are part of the answer. The tags and the white space before the
    opener belong to neither. O(length of the text) a call; holds back only text that
    may be the beginning of a tag, and at most 64 characters of leading white space.

    Example:
        >>> splitter = ThinkSplitter()
        >>> splitter.feed("<thi"), splitter.feed("nk>Hm.</think>Yes")
        ([], [('reasoning', 'Hm.'), ('content', 'Yes')])
    """

    def __init__(self) -> None:
        self._held = ""
        self._closer = ""  # "" outside reasoning
        self.settled = False  # whatever comes now is the answer

    def feed(self, text: str) -> list[Part]:
        """Return what is sure by now, as pairs of `reasoning` or `content` and text."""
        text = self._held + text
        self._held = ""
        if self.settled:
            return [("content", text)] if text else []
        if self._closer:
            return self._read_reasoning(text)
        body = text.lstrip()
        if len(text) - len(body) <= _MAX_LEAD_CHARS:
            for opener, closer in THINK_TAGS.items():
                if body.startswith(opener):
                    self._closer = closer
                    return self._read_reasoning(body[len(opener) :])
            if any(opener.startswith(body) for opener in THINK_TAGS):
                self._held = text
                return []
        self.settled = True
        return [("content", text)]

    def release(self) -> list[Part]:
        """Return what is held back: the text goes on elsewhere, or ends."""
        text, self._held = self._held, ""
        if not self._closer:
            self.settled = True
        if not text:
            return []
        return [("reasoning" if self._closer else "content", text)]

    def _read_reasoning(self, text: str) -> list[Part]:
        reasoning, closer, rest = text.partition(self._closer)
        if closer:
            self._closer = ""
            self.settled = True
        else:
            held = _overlap(text, self._closer)
            reasoning = text[: len(text) - held]
            self._held = text[len(text) - held :]
        parts: tuple[Part, Part] = (("reasoning", reasoning), ("content", rest))
        return [part for part in parts if part[1]]


def _overlap(text: str, tag: str) -> int:
    """Return how many characters at the end of `text` may begin `tag`."""
    for length in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:length]):
            return length
    return 0
