"""The exporter as options describe it, and its complaints said once."""

from __future__ import annotations

import logging
from urllib.parse import urlsplit

from trackside.report.telemetry import Telemetry

logger = logging.getLogger(__name__)

SDK = "opentelemetry"


class SaidOnce(logging.Handler):
    """Passes each kind of complaint on once: a dead collector fails again and again."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        kind = str(record.msg)
        if kind not in self._said:
            self._said.add(kind)
            logger.warning("turns: export: %s", record.getMessage())


def telemetry(otlp: str, prometheus: str, run: str) -> Telemetry | None:
    """Return the exporter that the options ask for, None if they ask for none.

    Parameters:
        otlp: base URL of a collector, or "".
        prometheus: [HOST:]PORT to serve metrics at, or "".
        run: tells this proxy from others.

    Raises:
        ValueError: an option can't be understood.
        LookupError: the SDK is not installed.
        OSError: the port is taken.
    """
    if not otlp and not prometheus:
        return None
    if otlp and urlsplit(otlp).scheme not in ("http", "https"):
        raise ValueError(f"got {otlp!r}, want http://HOST:PORT")
    sdk = logging.getLogger(SDK)
    if not any(isinstance(handler, SaidOnce) for handler in sdk.handlers):
        sdk.addHandler(SaidOnce())
        sdk.propagate = False
    address = parse_address(prometheus) if prometheus else None
    return Telemetry(otlp=otlp, prometheus=address, run=run)


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port; loopback where no host is named.

    Raises:
        ValueError: there is no port, or it is out of range.

    Example:
        >>> parse_address("9464"), parse_address("0.0.0.0:9464")
        (('127.0.0.1', 9464), ('0.0.0.0', 9464))
    """
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"got {text!r}, want [HOST:]PORT")
    return host.strip("[]") or "127.0.0.1", int(port)
