"""Records a looping run of the embedded engine, and how it goes on, into a capture.

Example:
    .venv/bin/python scripts/record.py captures/loop.json

The reasoning is cut after some tokens; phase 2 closes it and asks for the answer, as
the guard does.
"""

import argparse
import codecs
import http.client
import json
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console

from engine import Engine
from engines.capture import Capture, Chunk, Exchange
from prompts import LOOPING, Prompt

CHAT = "/v1/chat/completions"
HEADERS = ("content-type", "server")
"""What is kept of the response's headers."""
CLOSING = "I have gone over this enough. I will answer now."
LOOK_BACK_CHARS = 60
PROMPT = "ways-to-cut-a-cake-in-eight-pieces"


def main() -> int:
    """Record one prompt."""
    prompts = {prompt.name: prompt for prompt in LOOPING}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, metavar="FILE")
    parser.add_argument(
        "--prompt",
        choices=prompts,
        default=PROMPT,
        metavar="NAME",
        help="one of LOOPING in prompts.py",
    )
    parser.add_argument("--tokens", type=int, default=300, help="of phase 1")
    args = parser.parse_args()
    progress = Console(stderr=True)
    try:
        with progress.status("recording"), Engine.start() as engine:
            capture = record(engine, prompts[args.prompt], max_tokens=args.tokens)
        capture.save(args.out)
    except (OSError, RuntimeError, ValueError) as error:
        print(f"record: {error}", file=sys.stderr)
        return 2
    print(f"{args.out}: {len(capture.phase1.chunks)} chunks of phase 1,"
          f" {len(capture.phase2.chunks)} of phase 2")  # fmt: skip
    return 0


def record(engine: Engine, prompt: Prompt, *, max_tokens: int) -> Capture:
    """Run both phases and return what was said and when."""
    request = {
        "model": engine.model,
        "messages": list(prompt.messages),
        "temperature": 0,
        "max_tokens": max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    phase1 = exchange(engine.url, request)
    kept = before_loop(reasoning(phase1)) + CLOSING
    message = {"role": "assistant", "reasoning_content": kept, "content": ""}
    phase2 = exchange(
        engine.url,
        request
        | {
            "messages": [*prompt.messages, message],
            "continue_final_message": "content",
            "add_generation_prompt": False,
        },
    )
    return Capture(
        made_by=f"scripts/record.py --prompt {prompt.name} --tokens {max_tokens}",
        engine=f"llama.cpp (xllamacpp {version('xllamacpp')}), {engine.model}",
        phase1=phase1,
        phase2=phase2,
    )


def exchange(url: str, body: Mapping[str, Any]) -> Exchange:
    """Send a request and take down its stream, chunk by chunk.

    Raises:
        ValueError: the engine refused; with what it said.
    """
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=600)
    sent_s = time.monotonic()
    connection.request(
        "POST", CHAT, json.dumps(body), {"content-type": "application/json"}
    )
    response = connection.getresponse()
    if response.status != 200:
        raise ValueError(f"got {response.status}, wanted 200: {response.read()!r}")
    utf8 = codecs.getincrementaldecoder("utf-8")()
    chunks: list[Chunk] = []
    while chunk := response.read1():
        chunks.append((round(time.monotonic() - sent_s, 4), utf8.decode(chunk)))
    connection.close()
    headers = {name: response.headers[name] for name in HEADERS}
    return Exchange(body, response.status, headers, tuple(chunks))


def reasoning(phase: Exchange) -> str:
    """Return the reasoning that was streamed."""
    text = ""
    for _, data in phase.events():
        if data != "[DONE]":
            for choice in json.loads(data)["choices"]:
                text += choice["delta"].get("reasoning_content") or ""
    return text


def before_loop(text: str) -> str:
    r"""Return the whole lines before what the text ends with came for the first time.

    Example:
        >>> before_loop("Let me think.\n" + "But then, it may be otherwise.\n" * 9)
        'Let me think.\n'
    """
    first = text.index(text[-LOOK_BACK_CHARS:])
    return text[: text.rfind("\n", 0, first) + 1]


if __name__ == "__main__":
    sys.exit(main())
