"""Serves a player over HTTP/1.1, on loopback, on a thread of its own."""

import asyncio
import json
import socket
import threading
from pathlib import Path

import h11

from engines.capture import Capture, Exchange
from engines.player import Player

JSON = [("content-type", "application/json")]
# What h11 decides for each connection.
FRAMING = {"connection", "content-length", "keep-alive", "transfer-encoding"}


def start(capture: Path, *, port: int, pace: float) -> tuple[str, str]:
    """Start to serve a capture; return the URL and the model's name.

    Parameters:
        capture: file to play.
        port: TCP port on 127.0.0.1; 0 takes a free one.
        pace: factor on the recorded times; 0 plays at once.

    Raises:
        OSError: the port is taken, or the file cannot be read.
        ValueError: the file is no capture.
    """
    player = Player(Capture.load(capture), pace=pace)
    listener = socket.create_server(("127.0.0.1", port))
    serving = _serve(listener, player)
    threading.Thread(target=asyncio.run, args=(serving,), daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}", player.model


async def _serve(listener: socket.socket, player: Player) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(player), sock=listener)
    await server.serve_forever()


class Connection(asyncio.Protocol):
    """One client's connection, kept alive as HTTP/1.1 does."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self._http = h11.Connection(h11.SERVER)
        self._body = bytearray()
        self._answering: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop playing: the client left."""
        if self._answering:
            self._answering.cancel()

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request."""
        self._http.receive_data(data)
        self._advance()

    def _advance(self) -> None:
        """Read what has arrived, up to the end of a request."""
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError:
                self._transport.close()
                return
            match event:
                case h11.Request():
                    self._request = event
                    self._body.clear()
                case h11.Data():
                    self._body += event.data
                case h11.EndOfMessage():
                    self._answering = asyncio.create_task(self._answer())
                case h11.ConnectionClosed():
                    self._transport.close()
                    return
                case _:  # more bytes are needed, or an answer is still being played
                    return

    async def _answer(self) -> None:
        """Answer one request, then go on with the next."""
        path = self._request.target.decode("ascii").partition("?")[0]
        try:
            if self._request.method == b"GET":
                told, exchange = self._player.look(path), None
            else:
                body = json.loads(self._body)
                exchange = self._player.exchange(path, body)
                told = exchange or self._player.ask(path, body)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            self._whole(400, {"error": {"code": 400, "message": repr(error)}})
        else:
            if exchange:
                await self._stream(path, exchange)
            elif told is None:
                self._whole(404, {"error": {"code": 404, "message": f"no {path}"}})
            else:
                self._whole(200, told)
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
            self._advance()
        else:
            self._transport.close()

    async def _stream(self, path: str, exchange: Exchange) -> None:
        headers = [(k, v) for k, v in exchange.headers.items() if k not in FRAMING]
        self._send(h11.Response(status_code=exchange.status, headers=headers))
        async for text in self._player.play(path, exchange):
            self._send(h11.Data(data=text.encode()))
        self._send(h11.EndOfMessage())

    def _whole(self, status: int, told: object) -> None:
        body = json.dumps(told).encode()
        headers = [*JSON, ("content-length", str(len(body)))]
        self._send(h11.Response(status_code=status, headers=headers))
        self._send(h11.Data(data=body))
        self._send(h11.EndOfMessage())

    def _send(self, event: h11.Event) -> None:
        self._transport.write(self._http.send(event) or b"")
