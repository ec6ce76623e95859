"""Labelled traces and their tokens."""

import json
import lzma

import pytest

from benches.corpus import Trace, tokens, traces


def trace(**fields):
    row = {"id": "a", "set": "loop/x", "lang": "en", "channel": "content"}
    return Trace(**(row | {"label": "loop", "text": ""} | fields))


@pytest.mark.parametrize(
    ("fields", "group"),
    [
        pytest.param({}, "loop content", id="real"),
        pytest.param({"loop_type": "semantic"}, "semantic", id="semantic"),
        pytest.param(
            {"set": "synthetic/x", "loop_type": "syn_count"}, "syn count", id="made"
        ),
        pytest.param({"set": "own/x"}, "own", id="unlabelled-kind"),
        pytest.param({"set": "clean/x", "label": "clean"}, "clean", id="clean"),
        pytest.param(
            {"set": "clean/structured", "label": "clean"}, "structured", id="structured"
        ),
    ],
)
def test_groups(fields, group):
    assert trace(**fields).group == group


@pytest.mark.parametrize("text", ["", "hé 哈哈😀", "<|endoftext|>", "a" * 99])
def test_tokens_give_the_text_back(text):
    ids, texts = tokens(text)
    assert "".join(texts) == text
    assert len(ids) == len(texts)


def test_rows_are_read_file_by_file(tmp_path):
    row = {"id": "a", "set": "s", "lang": "en", "channel": "c", "label": "clean"}
    line = json.dumps({**row, "text": "x", "licence": "MIT"}).encode()
    (tmp_path / "b.jsonl.xz").write_bytes(lzma.compress(line + b"\n" + line))
    assert [trace.text for trace in traces(tmp_path)] == ["x", "x"]


def test_no_corpus_is_said_clearly(tmp_path):
    with pytest.raises(OSError, match=r"no corpus at .*: want \*\.jsonl\.xz"):
        list(traces(tmp_path))
