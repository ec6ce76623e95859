"""The guard's options, the other ways a proxy is run, and captures."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cases import ANSWER, body, events, finishes, post, script, texts
from mitm import ROOT, Proxy, mitmdump, run_mitmdump
from scripted import LOOP, OPENING, SSE, Asked, Reply, Scripted, scripted, stream


@pytest.fixture(scope="module")
def engine() -> Iterator[Scripted]:
    with scripted(script) as state:
        yield state


def test_observe_reports_and_keeps_every_byte(tmp_path: Path, engine: Scripted) -> None:
    direct = httpx.post(f"{engine.url}/v1/chat/completions", json=body("loop"))
    option = ("--set", "guard_action=observe")
    with mitmdump(engine.url, tmp_path, *option) as proxy:
        assert post(proxy, "loop").content == direct.content
        assert "action observe: not acted on" in proxy.wait_for("guard: tripped")


def test_cut_ends_the_turn_with_length(tmp_path: Path, engine: Scripted) -> None:
    before = len(engine.chats)
    with mitmdump(engine.url, tmp_path, "--set", "guard_action=cut") as proxy:
        chunks = events(post(proxy, "loop"))
        assert finishes(chunks) == ["length"]
        assert texts(chunks, "content") == ""
        assert len(engine.chats) == before + 1
        assert "strategy end" in proxy.wait_for("ended length by guard")


def test_a_spent_budget_trips_by_effort(tmp_path: Path, engine: Scripted) -> None:
    options = ("--set", "guard_budget=low:40,default:0", "--set", "guard_detectors=")
    detectors = ("--set", "guard_detectors=-staleness,-cycles,-paragraphs")
    with mitmdump(engine.url, tmp_path, *options[:2], *detectors) as proxy:
        chunks = events(post(proxy, "loop", reasoning_effort="low"))
        assert texts(chunks, "content") == "".join(ANSWER)
        line = proxy.wait_for("tripped by budget")
        assert "budget 40 for effort low" in line
        assert "at 4" in line  # 40-odd tokens, counted by tiktoken
    kept = engine.chats[-1].json["messages"][-1]["reasoning_content"]
    assert 100 < len(kept) < 300


def test_keep_all_hands_the_loop_on(tmp_path: Path, engine: Scripted) -> None:
    options = ("--set", "guard_keep=all", "--set", "guard_closing=Enough.")
    with mitmdump(engine.url, tmp_path, *options) as proxy:
        reasoning = texts(events(post(proxy, "loop")), "reasoning_content")
    kept = engine.chats[-1].json["messages"][-1]["reasoning_content"]
    assert kept == f"{reasoning.rstrip()}\n\nEnough."


@pytest.mark.parametrize(
    ("option", "says"),
    [
        pytest.param("guard_budgets=1", "unknown option guard_budgets", id="name"),
        pytest.param("guard_budget=low:x", "want LEVEL:TOKENS", id="budget"),
        pytest.param("guard_detectors=magic", "no detector 'magic'", id="detector"),
        pytest.param("guard_action=stop", "guard_action", id="choice"),
        pytest.param("guard_handoffs=-1", "want 0 or more", id="range"),
        pytest.param("guard_handoffs=many", "guard_handoffs", id="not a number"),
    ],
)
def test_a_bad_option_stops_the_start(
    tmp_path: Path, engine: Scripted, option: str, says: str
) -> None:
    mode = ("--mode", f"reverse:{engine.url}", "--listen-port", "0")
    done = run_mitmdump(
        tmp_path, "-s", str(ROOT / "addons/guard.py"), *mode, "--set", option
    )
    assert done.returncode != 0
    assert says in done.stdout + done.stderr


def test_a_capture_reports_the_same_trips(tmp_path: Path, engine: Scripted) -> None:
    option = ("--set", "guard_budget=low:40,default:0")
    with mitmdump(engine.url, tmp_path, *option) as proxy:
        post(proxy, "loop")
        post(proxy, "healthy")
        post(proxy, "loop", reasoning_effort="low")
        time.sleep(0.5)
        live = [line for line in proxy.log.split("\n") if "guard: tripped" in line]
        proxy.stop()
    script_ = ("-s", str(ROOT / "addons/guard.py"), *option)
    done = run_mitmdump(tmp_path, "-nr", str(proxy.capture_path), *script_)
    again = [line for line in done.stdout.split("\n") if "guard: tripped" in line]
    assert len(live) == 2
    strip = [line.partition("guard: ")[2].split("; usage")[0] for line in live]
    assert strip == [line.partition("guard: ")[2].split("; usage")[0] for line in again]
    assert "rror" not in done.stdout.replace("handoff error", "")


class OnlyHttp2(ssl.SSLContext):
    """Offers HTTP/2 alone, as httpx would rather not; trusts any certificate."""

    def __new__(cls) -> OnlyHttp2:
        context = super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context

    def set_alpn_protocols(self, _: object) -> None:
        super().set_alpn_protocols(["h2"])


def test_http2_clients_are_spliced(tmp_path: Path, engine: Scripted) -> None:
    with (
        mitmdump(engine.url, tmp_path) as proxy,
        httpx.Client(http2=True, verify=OnlyHttp2(), timeout=30) as client,
    ):
        splice_over_http2(client, proxy)


def test_http2_and_tls_upstreams_are_spliced(tmp_path: Path, engine: Scripted) -> None:
    """A mitmdump without the guard is the upstream that speaks both."""
    (tmp_path / "far").mkdir()
    before = len(engine.cut)
    observe = ("--set", "guard_action=observe")
    with (
        mitmdump(engine.url, tmp_path / "far", *observe) as far,
        mitmdump(
            far.url.replace("http:", "https:"), tmp_path, "--set", "ssl_insecure=true"
        ) as near,
        httpx.Client(http2=True, verify=OnlyHttp2(), timeout=30) as client,
    ):
        splice_over_http2(client, near)
        engine.wait_cut(before + 2)
        assert far.log.count("HTTP/2.0") >= 3


def splice_over_http2(client: httpx.Client, proxy: Proxy) -> None:
    url = proxy.url.replace("http:", "https:") + "/v1/chat/completions"
    for case in ("loop", "healthy", "loop"):
        response = client.post(url, json=body(case))
        assert response.http_version == "HTTP/2"
        assert texts(events(response), "content") == "".join(ANSWER)


def test_an_upstream_proxy_is_spliced_through(tmp_path: Path, engine: Scripted) -> None:
    (tmp_path / "far").mkdir()
    with (
        mitmdump(engine.url, tmp_path / "far", mode="regular") as far,
        mitmdump("", tmp_path, mode=f"upstream:{far.url}") as near,
        httpx.Client(proxy=near.url, timeout=30) as client,
    ):
        response = client.post(f"{engine.url}/v1/chat/completions", json=body("loop"))
        assert texts(events(response), "content") == "".join(ANSWER)


def test_engines_that_end_by_closing_are_spliced(tmp_path: Path) -> None:
    with (
        scripted(script, protocol="HTTP/1.0") as engine,
        mitmdump(engine.url, tmp_path) as proxy,
    ):
        assert texts(events(post(proxy, "loop")), "content") == "".join(ANSWER)


def test_a_stream_with_a_length_is_spliced(tmp_path: Path) -> None:
    def bounded(asked: Asked) -> Reply | None:
        reply = script(asked)
        if reply and asked.path.endswith("/chat/completions") and not asked.continues:
            whole = b"".join(reply.body) if not isinstance(reply.body, bytes) else b""
            cut = whole[: whole.index(b"data: [DONE]")]
            return Reply(cut.replace(b'"length"', b"null"), headers=SSE)
        return reply

    with scripted(bounded) as engine, mitmdump(engine.url, tmp_path) as proxy:
        assert texts(events(post(proxy, "loop")), "content") == "".join(ANSWER)


def test_a_conversation_id_does_not_keep_phase_1_alive(
    tmp_path: Path, engine: Scripted
) -> None:
    headers = {"X-Conversation-Id": "abc"}
    with mitmdump(engine.url, tmp_path) as proxy:
        url = f"{proxy.url}/v1/chat/completions"
        response = httpx.post(url, json=body("loop"), headers=headers, timeout=30)
    assert texts(events(response), "content") == "".join(ANSWER)
    first, second = engine.chats[-2:]
    assert first.headers["x-conversation-id"] == "abc"
    assert "x-conversation-id" not in second.headers
    deleted = [a.path for a in engine.asked if a.method == "DELETE"]
    assert deleted == ["/v1/stream?conv_id=abc"]


def test_reasoning_is_ended_in_place_where_it_is_chosen(tmp_path: Path) -> None:
    granted: list[str] = []

    def controllable(asked: Asked) -> Reply | None:
        if asked.path == "/v1/chat/completions/control":
            granted.append(asked.json["id"])
            return Reply(b'{"success":true}')
        if asked.path == "/v1/chat/completions":
            assert asked.json["reasoning_control"] is True
            return Reply(until_told(), headers=SSE)
        return script(asked)

    def until_told() -> Iterator[bytes]:
        pieces = iter([*OPENING, *LOOP * 9])
        first = stream(pieces, finish=None, gap_s=0.001)
        for event in first:
            yield event
            if granted:
                break
        yield from list(stream(content=ANSWER))[1:]

    option = ("--set", "guard_strategy=in_place")
    with (
        scripted(controllable) as engine,
        mitmdump(engine.url, tmp_path, *option) as proxy,
    ):
        chunks = events(post(proxy, "loop"))
        assert texts(chunks, "content") == "".join(ANSWER)
        assert granted == ["chatcmpl-1"]
        assert len(engine.chats) == 1
        assert "strategy in_place" in proxy.wait_for("guard: tripped")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Reply(b'{"success":false,"message":"no"}'), id="refused"),
        pytest.param(Reply(b'{"error":"not found"}', 404), id="older build"),
        pytest.param(Reply(b'{"success":true}'), id="granted without effect"),
    ],
)
def test_what_is_not_ended_in_place_is_handed_off(
    tmp_path: Path, answer: Reply
) -> None:
    def refusing(asked: Asked) -> Reply | None:
        return answer if asked.path.endswith("/control") else script(asked)

    option = ("--set", "guard_strategy=in_place")
    with (
        scripted(refusing) as engine,
        mitmdump(engine.url, tmp_path, *option) as proxy,
    ):
        chunks = events(post(proxy, "loop"))
        assert texts(chunks, "content") == "".join(ANSWER)
        assert len(engine.chats) == 2
        assert "reasoning_control" not in engine.chats[1].json
