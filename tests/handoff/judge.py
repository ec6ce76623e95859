"""The official client as judge of a response, in this process."""

import json
from typing import Any

import httpx
from openai import OpenAI
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk

_BODY = [b""]


def _answer(_: httpx.Request) -> httpx.Response:
    headers = {"content-type": "text/event-stream"}
    return httpx.Response(200, headers=headers, content=_BODY[0])


_CLIENT = OpenAI(
    api_key="none",
    base_url="http://engine",
    max_retries=0,
    http_client=httpx.Client(transport=httpx.MockTransport(_answer)),
)


def read_strictly(body: bytes) -> list[ChatCompletionChunk]:
    """Return the chunks the official client makes of a streamed body."""
    _BODY[0] = body
    stream = _CLIENT.chat.completions.create(model="m", messages=[], stream=True)
    return list(stream)


def completion(chunks: list[ChatCompletionChunk]) -> ChatCompletion:
    """Return what its `.stream()` helper makes of all chunks together."""
    state: Any = ChatCompletionStreamState()
    for chunk in chunks:
        state.handle_chunk(chunk)
    final: ChatCompletion = state.get_final_completion()
    return final


def read_by_hand(body: bytes) -> list[dict[str, Any]]:
    """Return the chunks of a body in which nothing but chunks and comments may be.

    Every event has one line and ends with a blank one; the last is the terminator.
    """
    assert body.endswith(b"\n\n")
    events = body.decode().removesuffix("\n\n").split("\n\n")
    assert not any("\n" in event or "\r" in event for event in events)
    events = [event for event in events if not event.startswith(":")]
    assert events.pop() == "data: [DONE]"
    assert all(event.startswith("data: {") for event in events)
    return [json.loads(event.removeprefix("data: ")) for event in events]
