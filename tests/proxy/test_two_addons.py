"""Two addons on one response: it is decoded once, and both see all of it."""

from __future__ import annotations

from pathlib import Path

from cases import post, script
from mitm import mitmdump
from scripted import scripted

SECOND = """
import logging
from trackside.proxy.tap import tap_of
from trackside.wire.chat import Reader

fed = []
feed = Reader.feed

def counted(self, chunk):
    fed.append(len(chunk))
    return feed(self, chunk)

Reader.feed = counted

class Second:
    def responseheaders(self, flow):
        if tap := tap_of(flow):
            self.raws = []
            tap.observers.append(self)

    def see(self, messages, at_s):
        self.raws += [message.raw for message in messages]

    def response(self, flow):
        logging.info("second: fed %d, seen %d", sum(fed), len(b"".join(self.raws)))

addons = [Second()]
"""


def test_a_stream_is_parsed_once_for_two_addons(tmp_path: Path) -> None:
    second = tmp_path / "second.py"
    second.write_text(SECOND)
    with (
        scripted(script) as engine,
        mitmdump(engine.url, tmp_path, "-s", str(second)) as proxy,
    ):
        size = len(post(proxy, "healthy").content)
        proxy.wait_for(f"second: fed {size}, seen {size}")
