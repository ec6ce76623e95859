"""The options of the turns addon, and what it says when one can't be used."""

from __future__ import annotations

import importlib.util
import time
import urllib.request
from pathlib import Path

import pytest

from cases import post, script
from mitm import ROOT, mitmdump, run_mitmdump
from scripted import scripted
from trackside.proxy.exporting import parse_address

HAS_SDK = importlib.util.find_spec("opentelemetry") is not None
HAS_ALL = (
    HAS_SDK
    and importlib.util.find_spec("opentelemetry.exporter") is not None
    and importlib.util.find_spec("opentelemetry.exporter.prometheus") is not None
)
TURNS = str(ROOT / "addons/turns.py")


@pytest.mark.parametrize(
    ("option", "says"),
    [
        pytest.param("turns_lines=some", "turns_lines", id="choice"),
        pytest.param("turns_summary_s=-1", "want 0 or more", id="range"),
        pytest.param("turns_summary_s=soon", "turns_summary_s", id="no number"),
        pytest.param("turns_usage=perhaps", "turns_usage", id="no bool"),
        pytest.param("turns_ledgers=x", "unknown option turns_ledgers", id="name"),
        pytest.param("turns_ledger=/nowhere/x", "unable to open", id="no folder"),
        pytest.param(f"turns_ledger={TURNS}", "no SQLite file", id="no ledger"),
        pytest.param("turns_otlp=collector", "want http://HOST:PORT", id="no URL"),
        pytest.param("turns_prometheus=x", "want [HOST:]PORT", id="no port"),
        pytest.param(
            "turns_otlp=http://127.0.0.1:1",
            "pip install",
            id="no SDK",
            marks=pytest.mark.skipif(HAS_SDK, reason="the SDK is installed"),
        ),
    ],
)
def test_a_bad_option_stops_the_start(tmp_path: Path, option: str, says: str) -> None:
    mode = ("--mode", "reverse:http://127.0.0.1:1", "--listen-port", "0")
    done = run_mitmdump(tmp_path, "-s", TURNS, *mode, "--set", option)
    assert done.returncode != 0
    assert says in done.stdout + done.stderr


def test_lines_can_be_silenced_and_summaries_come(tmp_path: Path) -> None:
    options = ("--set", "turns_lines=faults", "--set", "turns_summary_s=1")
    with (
        scripted(script) as engine,
        mitmdump(engine.url, tmp_path, *options, script="turns.py") as proxy,
    ):
        post(proxy, "healthy")
        time.sleep(1.1)
        post(proxy, "healthy")
        assert "2 turns in 0 min" in proxy.wait_for("turns: 2 turns")
        assert "ctx" not in proxy.log


@pytest.mark.skipif(not HAS_ALL, reason="the extra `otel` is not installed")
def test_prometheus_and_a_dead_collector(tmp_path: Path) -> None:
    options = ("--set", "turns_prometheus=0", "--set", "turns_otlp=http://127.0.0.1:9")
    with (
        scripted(script) as engine,
        mitmdump(engine.url, tmp_path, *options, script="turns.py") as proxy,
    ):
        line = proxy.wait_for("turns: metrics at http")
        url = line.rpartition(" ")[2]
        for _ in range(3):
            assert post(proxy, "healthy").status_code == 200
        with urllib.request.urlopen(url, timeout=5) as answer:
            assert b"trackside_turns" in answer.read()


@pytest.mark.parametrize("text", ["", ":", "x:y", "1:2:", "70000", "٣"])
def test_addresses_without_a_port_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="want"):
        parse_address(text)
