"""The exporter with the official SDK, against an OTLP receiver in this process."""

from __future__ import annotations

import gzip
import importlib
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ledger.story import Story
from trackside.ledger.turn import turn_record
from trackside.report.telemetry import Telemetry

for module in ("sdk", "exporter.otlp.proto.http", "exporter.prometheus"):
    pytest.importorskip(
        f"opentelemetry.{module}", reason="the extra `otel` is not installed"
    )


class Receiver:
    """Takes OTLP over HTTP and keeps it as messages of the protocol."""

    def __init__(self) -> None:
        self.metrics: list[Any] = []
        self.spans: list[Any] = []
        receiver = self
        proto = "opentelemetry.proto.collector"
        kinds = {
            "/v1/metrics": importlib.import_module(
                f"{proto}.metrics.v1.metrics_service_pb2"
            ).ExportMetricsServiceRequest,
            "/v1/traces": importlib.import_module(
                f"{proto}.trace.v1.trace_service_pb2"
            ).ExportTraceServiceRequest,
        }

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:  # http.server's name
                data = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    data = gzip.decompress(data)
                message = kinds[self.path]()
                message.ParseFromString(data)
                receiver.take(self.path, message)
                self.send_response(200)
                self.end_headers()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def take(self, path: str, message: Any) -> None:
        if path == "/v1/metrics":
            for resource in message.resource_metrics:
                for scope in resource.scope_metrics:
                    self.metrics += scope.metrics
            self.resource = message.resource_metrics[0].resource
        else:
            for resource in message.resource_spans:
                for scope in resource.scope_spans:
                    self.spans += scope.spans


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    threading.Thread(target=receiver.server.serve_forever, daemon=True).start()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


def attributes(pairs: Any) -> dict[str, Any]:
    return {p.key: getattr(p.value, p.value.WhichOneof("value")) for p in pairs}


def test_turns_arrive_as_metrics_and_spans(receiver: Receiver) -> None:
    story = Story("vllm")
    records = [turn_record(story.turn("a1", 0)) for _ in range(3)]
    records.append(
        turn_record(story.turn("a1", 0, end=("error", "reasoning"), status=200))
    )
    telemetry = Telemetry(otlp=receiver.url, run="r1")
    for record in records:
        telemetry.put(record)
    telemetry.close()
    assert attributes(receiver.resource.attributes)["service.instance.id"] == "r1"
    by_name = {metric.name: metric for metric in receiver.metrics}
    wait = by_name["gen_ai.server.time_to_first_token"]
    assert wait.unit == "s"
    assert sum(point.count for point in wait.histogram.data_points) == 4
    assert 600.0 in wait.histogram.data_points[0].explicit_bounds
    turns = by_name["trackside.turns"].sum.data_points
    assert sum(point.as_double + point.as_int for point in turns) == 4
    assert len(receiver.spans) == 4
    first = receiver.spans[0]
    assert first.name == "chat m"
    told = attributes(first.attributes)
    assert told["gen_ai.usage.input_tokens"] == records[0]["usage"]["prompt"]
    assert told["trackside.verdict.cause"] == "first_request"
    lasted_s = (first.end_time_unix_nano - first.start_time_unix_nano) / 1e9
    assert lasted_s == pytest.approx(records[0]["duration_s"], abs=1e-3)
    assert [span.status.code for span in receiver.spans] == [0, 0, 0, 2]


def test_prometheus_fetches_the_same_metrics() -> None:
    telemetry = Telemetry(prometheus=("127.0.0.1", 0), run="r1")
    try:
        telemetry.put(turn_record(Story().turn("a1", 0)))
        assert telemetry.url
        with urllib.request.urlopen(telemetry.url, timeout=5) as answer:
            text = answer.read().decode()
    finally:
        telemetry.close()
    assert "gen_ai_server_time_to_first_token_seconds_bucket" in text
    assert 'trackside_cache_state="cold"' in text


def test_a_dead_collector_costs_the_proxy_nothing() -> None:
    telemetry = Telemetry(otlp="http://127.0.0.1:9", run="r1")
    record = turn_record(Story().turn("a1", 0))
    for _ in range(100):
        telemetry.put(record)
    closing = threading.Thread(target=telemetry.close, daemon=True)
    closing.start()
    closing.join(20)
    assert not closing.is_alive()
