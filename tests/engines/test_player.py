import asyncio
import json
from typing import Any

import pytest

from engines.capture import Exchange
from engines.player import CHAT, COMPLETIONS, Player
from recordings import ASKED, CAPTURE, CONTINUED, USER


async def texts(player: Player, path: str, body: dict[str, Any]) -> list[str]:
    exchange = player.exchange(path, body)
    assert exchange
    return [text async for text in player.play(path, exchange)]


def events(chunks: list[str]) -> list[Any]:
    lines = "".join(chunks).split("\n\n")
    assert lines.pop() == ""
    assert lines.pop() == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines]


@pytest.mark.parametrize("pace", [0, 1])
@pytest.mark.parametrize(
    ("body", "played"),
    [
        pytest.param(ASKED, CAPTURE.phase1, id="phase 1"),
        pytest.param(CONTINUED, CAPTURE.phase2, id="phase 2"),
    ],
)
def test_a_chat_is_played_chunk_by_chunk(
    body: dict[str, Any], played: Exchange, pace: float
) -> None:
    player = Player(CAPTURE, pace=pace)
    assert asyncio.run(texts(player, CHAT, body)) == [text for _, text in played.chunks]


def test_a_completion_is_phase_2_as_text() -> None:
    player = Player(CAPTURE, pace=0)
    chunks = events(asyncio.run(texts(player, COMPLETIONS, {"stream": True})))
    assert {chunk["object"] for chunk in chunks} == {"text_completion"}
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    assert "".join(choice["text"] for choice in choices) == "The answer."
    assert not any("delta" in choice for choice in choices)


@pytest.mark.parametrize("after", range(1, 7))
def test_a_told_stream_flips_to_the_answer_in_place(after: int) -> None:
    async def run() -> tuple[list[str], Any]:
        player = Player(CAPTURE, pace=0)
        chunks: list[str] = []
        told = None
        async for text in player.play(CHAT, CAPTURE.phase1):
            chunks.append(text)
            if len(chunks) == after:
                body = {"id": "first", "action": "reasoning_end"}
                told = player.ask("/v1/chat/completions/control", body)
        return chunks, told

    chunks, told = asyncio.run(run())
    assert told == {"success": True}
    heard = events(chunks)
    assert {event["id"] for event in heard} == {"first"}
    deltas = [event["choices"][0]["delta"] for event in heard]
    assert [d for d in deltas if "role" in d] == deltas[:1]
    assert deltas[after:] == [{"content": "The "}, {"content": "answer."}]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"id": "first", "action": "reasoning_end"}, id="nothing runs"),
        pytest.param({"id": "other", "action": "reasoning_end"}, id="another id"),
    ],
)
def test_what_does_not_run_is_not_controlled(body: dict[str, str]) -> None:
    answer = Player(CAPTURE, pace=0).ask("/v1/chat/completions/control", body)
    assert answer == {"success": False, "message": "nothing to control"}


def test_a_slot_is_busy_while_a_stream_runs_and_idle_when_it_was_cut() -> None:
    async def run() -> None:
        player = Player(CAPTURE, pace=1000)
        idle = [{"id": 0, "is_processing": False}]
        busy = [{"id": 0, "is_processing": True}]
        assert player.look("/slots") == idle
        for body in (ASKED, CONTINUED):
            task = asyncio.create_task(texts(player, CHAT, body))
            await asyncio.sleep(0)
            assert player.look("/slots") == busy
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert player.look("/slots") == idle
        control = {"id": "first", "action": "reasoning_end"}
        told = player.ask("/v1/chat/completions/control", control)
        assert told == {"success": False, "message": "nothing to control"}

    asyncio.run(run())


def test_an_answer_in_one_piece_is_refused() -> None:
    with pytest.raises(ValueError, match='set "stream": true'):
        Player(CAPTURE, pace=0).exchange(CHAT, {"messages": [USER]})


def test_the_prompt_leaves_the_think_block_open() -> None:
    answer = Player(CAPTURE, pace=0).ask("/apply-template", {"messages": [USER]})
    assert isinstance(answer, dict)
    assert answer["prompt"].endswith("<|im_start|>assistant\n<think>\n")


@pytest.mark.parametrize("path", ["/", "/v1/embeddings", "/v1/chat/completions/x"])
def test_elsewhere_there_is_nothing(path: str) -> None:
    player = Player(CAPTURE, pace=0)
    assert player.look(path) is None
    assert player.ask(path, {}) is None
    assert player.exchange(path, {}) is None
