"""Bytes from an engine, cut into events and read as pieces."""

from trackside.wire import chat

DIALECTS: dict[str, type[chat.Reader]] = {"chat": chat.Reader}
"""The reader of each dialect's streams."""

_ROUTES: dict[str, str] = {"/chat/completions": "chat"}


def dialect_of(path: str) -> str | None:
    """Return the dialect spoken at `path`, a request target, or None if unknown.

    Whatever stands before the route is a matter of the deployment, and ignored.

    Example:
        >>> dialect_of("/api/v0/chat/completions?api-version=1"), dialect_of("/props")
        ('chat', None)
    """
    route = path.partition("?")[0].rstrip("/")
    for suffix, dialect in _ROUTES.items():
        if route.endswith(suffix):
            return dialect
    return None
