import http.client
import json
import socket
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engines import playing
from engines.player import CHAT
from recordings import ASKED, CAPTURE, CONTINUED, USER

PHASE_1 = "".join(text for _, text in CAPTURE.phase1.chunks)
PHASE_2 = "".join(text for _, text in CAPTURE.phase2.chunks)


@pytest.fixture(scope="module", params=[0, 30], ids=["at once", "slowly"])
def port(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> int:
    """The port of a playing engine; slowly, a stream takes a fifth of a second."""
    path = tmp_path_factory.mktemp("capture") / "capture.json"
    CAPTURE.save(path)
    url, _ = playing.start(path, port=0, pace=request.param)
    return int(url.rpartition(":")[2])


def post(body: Any) -> bytes:
    """Return a chat request as bytes."""
    data = json.dumps(body).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(data)}\r\n\r\n"
    return head.encode() + data


def until_end(connection: socket.socket, ends: int = 1) -> bytes:
    """Read until so many chunked bodies have ended."""
    got = b""
    while got.count(b"\r\n0\r\n\r\n") < ends:
        more = connection.recv(65536)
        assert more, got
        got += more
    return got


def test_a_connection_is_kept_for_the_next_request(port: int) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as client:
        for body, text in ((ASKED, PHASE_1), (CONTINUED, PHASE_2), (ASKED, PHASE_1)):
            client.request("POST", CHAT, json.dumps(body))
            response = client.getresponse()
            assert response.status == 200
            assert response.headers["content-type"] == "text/event-stream"
            assert response.read().decode() == text
            assert not response.will_close


def test_each_recorded_chunk_is_a_chunk_of_its_own(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(post(ASKED))
        got = until_end(connection)
    for _, text in CAPTURE.phase1.chunks:
        assert b"%x\r\n%s\r\n" % (len(text), text.encode()) in got


def test_requests_sent_ahead_are_answered_in_order(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(post(ASKED) + post(CONTINUED))
        got = until_end(connection, 2)
    assert 0 < got.index(b"loop ") < got.index(b"answer.")


def test_cuts_do_not_matter_to_a_request(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in post(CONTINUED):
            connection.sendall(bytes([byte]))
        assert b"answer." in until_end(connection)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("half", [True, False], ids=["closes", "stops sending"])
def test_a_client_that_leaves_frees_the_slot(half: bool, tmp_path: Path) -> None:
    CAPTURE.save(tmp_path / "x.json")
    url, _ = playing.start(tmp_path / "x.json", port=0, pace=60_000)
    port = int(url.rpartition(":")[2])

    def busy() -> list[bool]:
        with closing(http.client.HTTPConnection("127.0.0.1", port)) as client:
            client.request("GET", "/slots")
            return [slot["is_processing"] for slot in json.load(client.getresponse())]

    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(post(ASKED))
        assert b"200" in connection.recv(65536)
        assert busy() == [True]
        connection.shutdown(socket.SHUT_WR) if half else connection.close()
        while busy() != [False]:
            pass


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        pytest.param("GET", "/health", "", 200, id="health"),
        pytest.param("GET", "/props?x=1", "", 200, id="query"),
        pytest.param("GET", "/nothing", "", 404, id="nowhere"),
        pytest.param("POST", "/nothing", "{}", 404, id="post nowhere"),
        pytest.param("POST", CHAT, "", 400, id="no body"),
        pytest.param("POST", CHAT, "[]", 400, id="a list"),
        pytest.param("POST", CHAT, '{"stream": true}', 400, id="no messages"),
        pytest.param("POST", CHAT, '{"stream": true, "messages": []}', 400, id="empty"),
        pytest.param("POST", CHAT, json.dumps({"messages": [USER]}), 400, id="whole"),
        pytest.param("POST", f"{CHAT}/control", "{}", 400, id="control nothing"),
    ],
)
def test_every_request_gets_an_answer(
    port: int, method: str, path: str, body: str, status: int
) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as client:
        for _ in range(2):
            client.request(method, path, body)
            response = client.getresponse()
            assert response.status == status
            assert json.load(response)


def test_garbage_ends_the_connection_and_nothing_else(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"\x16\x03\x01 not http\r\n\r\n")
        assert connection.recv(10) == b""
    test_a_connection_is_kept_for_the_next_request(port)
