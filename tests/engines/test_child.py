"""The shipped recording, played by a child process."""

import http.client
import json
import time
from contextlib import closing

import httpx

from asking import CHAT, wait_until
from conftest import LOOP, Played


def test_a_recording_is_played_and_continued(played: Played) -> None:
    engine = played()
    recorded = json.loads(LOOP.read_text())
    for phase in ("phase1", "phase2"):
        body = recorded[phase]["request"]
        response = httpx.post(engine.url + CHAT, json=body)
        assert response.status_code == 200
        assert response.text == "".join(text for _, text in recorded[phase]["chunks"])
    assert engine.model == "SmolLM2-135M-Instruct"


def test_the_shipped_recording_loops_and_then_answers(played: Played) -> None:
    recorded = json.loads(LOOP.read_text())
    said: dict[str, str] = {"reasoning_content": "", "content": ""}
    for phase in ("phase1", "phase2"):
        response = httpx.post(played().url + CHAT, json=recorded[phase]["request"])
        for line in response.text.splitlines():
            if line.startswith("data: {"):
                for choice in json.loads(line.removeprefix("data: "))["choices"]:
                    for kind in said:
                        said[kind] += choice["delta"].get(kind) or ""
                    last = choice["finish_reason"]
    assert said["reasoning_content"].count(said["reasoning_content"][-24:]) >= 3
    assert said["content"].strip()
    assert last == "stop"


def test_no_chunk_is_played_before_its_time(played: Played) -> None:
    pace = 0.1
    chunks = json.loads(LOOP.read_text())["phase2"]["chunks"]
    body = json.loads(LOOP.read_text())["phase2"]["request"]
    engine = played(pace=pace)
    host = engine.url.removeprefix("http://")
    with closing(http.client.HTTPConnection(host)) as client:
        sent_s = time.monotonic()
        client.request("POST", CHAT, json.dumps(body))
        response = client.getresponse()
        for recorded_s, text in chunks:
            assert response.read(len(text.encode())).decode() == text
            # The clocks of two processes are the same one, up to its resolution.
            assert time.monotonic() - sent_s >= recorded_s * pace - 0.02


def test_a_recording_stops_when_the_client_leaves(played: Played) -> None:
    engine = played(pace=100)
    with closing(http.client.HTTPConnection(engine.url[7:])) as client:
        body = {"stream": True, "messages": [{"role": "user", "content": "Hi"}]}
        client.request("POST", CHAT, json.dumps(body))
        client.getresponse()
        assert engine.busy_slots() == 1
    wait_until(lambda: engine.busy_slots() == 0)
