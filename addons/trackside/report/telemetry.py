"""Turns as OpenTelemetry metrics and spans, by OTLP or for Prometheus to fetch.

The official SDK does the work, on threads of its own. It is an extra: without it,
asking for an exporter is an error that says what to install.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from trackside.report.conventions import (
    INSTRUMENTS,
    measures,
    span_attributes,
    span_name,
)

EXPORT_S = 15.0
CLOSING_S = 3.0
NAME = "trackside"


class Telemetry:
    """Exports turn records.

    Parameters:
        otlp: base URL of a collector that takes OTLP over HTTP; "" for none.
        prometheus: (address, port) to serve metrics at; None for not at all.
        run: what tells this proxy from others, as `service.instance.id`.
        export_s: seconds between two exports of metrics.

    Raises:
        LookupError: the SDK is not installed.
        OSError: the port is taken.
    """

    def __init__(
        self,
        *,
        otlp: str = "",
        prometheus: tuple[str, int] | None = None,
        run: str,
        export_s: float = EXPORT_S,
    ) -> None:
        try:
            resource = _module("sdk.resources").Resource.create(
                {"service.name": NAME, "service.instance.id": run}
            )
            readers = []
            if otlp:
                readers.append(_otlp_reader(otlp, export_s))
            if prometheus:
                readers.append(_module("exporter.prometheus").PrometheusMetricReader())
            self._meters = _module("sdk.metrics").MeterProvider(readers, resource)
            self._tracers = _tracers(otlp, resource) if otlp else None
        except ImportError as error:
            raise LookupError(
                f"{error.name} is not installed: pip install 'trackside[otel]'"
            ) from error
        self._server: Any = None
        if prometheus:
            address, port = prometheus
            serve = importlib.import_module("prometheus_client").start_http_server
            self._server, _ = serve(port, address)
        meter = self._meters.get_meter(NAME)
        self._instruments = {
            name: meter.create_counter(name, one.unit, one.description)
            if one.bounds is None
            else meter.create_histogram(
                name,
                one.unit,
                one.description,
                explicit_bucket_boundaries_advisory=list(one.bounds),
            )
            for name, one in INSTRUMENTS.items()
        }
        self._tracer = self._tracers.get_tracer(NAME) if self._tracers else None

    @property
    def url(self) -> str | None:
        """Return where metrics are served, None if they are not."""
        if self._server is None:
            return None
        host, port = self._server.server_address[:2]
        return f"http://{host}:{port}/metrics"

    def put(self, record: Mapping[str, Any]) -> None:
        """Take a turn record; what is exported later costs nothing now."""
        for measure in measures(record):
            instrument = self._instruments[measure.name]
            record_value = getattr(instrument, "record", None) or instrument.add
            record_value(measure.value, measure.attributes)
        if self._tracer is None:
            return
        trace = _module("trace")
        span = self._tracer.start_span(
            span_name(record),
            kind=trace.SpanKind.CLIENT,
            attributes=span_attributes(record),
            start_time=round(record["started_at"] * 1e9),
        )
        if record["end"]["by"] == "error":
            span.set_status(trace.StatusCode.ERROR)
        span.end(round((record["started_at"] + record["duration_s"]) * 1e9))

    def close(self) -> None:
        """Export what is left, for a few seconds at most."""
        if self._tracers:
            self._tracers.force_flush(int(CLOSING_S * 1000))
            self._tracers.shutdown()
        self._meters.shutdown(CLOSING_S * 1000)
        if self._server:
            self._server.shutdown()
            self._server.server_close()


def _module(name: str) -> Any:
    return importlib.import_module(f"opentelemetry.{name}")


def _otlp_reader(otlp: str, export_s: float) -> Any:
    exporter = _module("exporter.otlp.proto.http.metric_exporter").OTLPMetricExporter(
        f"{otlp.rstrip('/')}/v1/metrics", timeout=CLOSING_S
    )
    reader = _module("sdk.metrics.export").PeriodicExportingMetricReader
    return reader(exporter, export_interval_millis=export_s * 1000)


def _tracers(otlp: str, resource: Any) -> Any:
    exporter = _module("exporter.otlp.proto.http.trace_exporter").OTLPSpanExporter(
        f"{otlp.rstrip('/')}/v1/traces", timeout=CLOSING_S
    )
    trace = _module("sdk.trace")
    provider = trace.TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(
        _module("sdk.trace.export").BatchSpanProcessor(exporter)
    )
    return provider
