"""What a stream callable asks of the splice, to have its response gone on with."""

from typing import Protocol

from mitmproxy import http


class Handoff(Protocol):
    """What a stream callable puts into its `handoff` to end phase 1."""

    def next_flow(self) -> http.HTTPFlow | None:
        """Return the next flow to try, or None when nothing is left to try."""
        ...

    def sent(self, data: bytes) -> None:
        """Note bytes that went to the client after phase 1."""
        ...

    def end(self, error: str | None) -> bytes:
        """Return what completes the client's response; `error` says why it is cut."""
        ...
