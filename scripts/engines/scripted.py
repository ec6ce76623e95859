"""An engine that says what a script tells it to, on loopback."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request the engine got."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def continues(self) -> bool:
        """Phase 2: the last message is the assistant's."""
        return bool(self.json["messages"][-1]["role"] == "assistant")


class Hangup(Exception):  # it is no error, it is what the script wants
    """Raised by a script to close the connection without another byte."""


@dataclass(frozen=True)
class Reply:
    """Status, headers and body; a body that is an iterable is streamed in chunks."""

    body: bytes | Iterable[bytes] = b"{}"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


type Script = Callable[[Asked], Reply | None]


class Scripted:
    """What a test sees of its engine."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.cut: list[str] = []
        """Paths of the streams whose client went away before their end."""
        self.url = ""

    @property
    def chats(self) -> list[Asked]:
        """The chat requests, without probes."""
        return [a for a in self.asked if a.path.endswith("/chat/completions")]

    def wait_cut(self, count: int = 1, limit_s: float = 10.0) -> None:
        """Wait until so many streams were cut by the other side."""
        end = time.monotonic() + limit_s
        while len(self.cut) < count:
            if time.monotonic() > end:
                raise AssertionError(f"only {len(self.cut)} streams were cut")
            time.sleep(0.01)


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # else a crowd of clients overflows it, and some are lost


@contextmanager
def scripted(
    script: Script,
    *,
    server: str = "llama.cpp",
    protocol: str = "HTTP/1.1",
    tls: ssl.SSLContext | None = None,
) -> Iterator[Scripted]:
    """Serve a script on loopback; paths it returns None for get a 404."""
    state = Scripted()
    server_name = server

    class Handler(BaseHTTPRequestHandler):
        protocol_version = protocol

        def version_string(self) -> str:
            return server_name

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:  # http.server's name
            self.do_POST()

        do_DELETE = do_GET  # http.server's name

        def do_POST(self) -> None:  # http.server's name
            length = int(self.headers.get("content-length", 0))
            headers = {k.lower(): v for k, v in self.headers.items()}
            asked = Asked(self.command, self.path, headers, self.rfile.read(length))
            state.asked.append(asked)
            reply = script(asked) or Reply(b'{"error":"no"}', 404)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if isinstance(reply.body, bytes):
                # a whole stream in one piece has a length as well
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)
            else:
                self.stream(reply.body)

        def stream(self, body: Iterable[bytes]) -> None:
            chunked = self.protocol_version == "HTTP/1.1"
            if chunked:
                self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                for part in body:
                    if part:
                        head = b"%x\r\n" % len(part) if chunked else b""
                        self.wfile.write(head + part + (b"\r\n" if chunked else b""))
                if chunked:
                    self.wfile.write(b"0\r\n\r\n")
            except OSError:
                state.cut.append(self.path)
                self.close_connection = True
            except Hangup:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)

    serving = _Server(("127.0.0.1", 0), Handler)
    serving.daemon_threads = True
    if tls:
        serving.socket = tls.wrap_socket(serving.socket, server_side=True)
    state.url = f"http{'s' if tls else ''}://127.0.0.1:{serving.server_address[1]}"
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    try:
        yield state
    finally:
        serving.shutdown()
        serving.server_close()
