"""The one error of the wire: bytes that are not what their dialect says they are."""


class WireError(ValueError):
    """Nonsense on the wire. The message says what was got and what was wanted."""
