"""Token counts, offline."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_texts import CHINESE, CODE, HEALTHY
from trackside.loops import tokens


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("", 0, id="empty"),
        pytest.param("hello world", 2, id="words"),
        pytest.param("<|endoftext|>", 7, id="special-tokens-are-text"),
        pytest.param("1234567", 3, id="digits-by-three"),
        pytest.param("\ud800", 1, id="lone-surrogate"),
    ],
)
def test_count(text, count):
    assert tokens.count(text) == count


def test_counts_without_a_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    tokens._encoding.cache_clear()
    assert tokens.available() is None
    assert tokens.count("hello") == 1


def test_says_why_it_cannot_count(monkeypatch):
    def missing():
        raise ImportError("no module named quicktok")

    monkeypatch.setattr(tokens, "_encoding", missing)
    assert "no module named quicktok" in (tokens.available() or "")
    assert tokens.count("hello") == 0


@pytest.mark.parametrize("text", [HEALTHY["prose"], CODE], ids=["prose", "code"])
@pytest.mark.parametrize("size", [1, 3, 50])
def test_the_counter_counts_what_count_counts(text, size):
    counter = tokens.Counter()
    for at in range(0, len(text), size):
        counter.add(text[at : at + size])
    assert counter.tokens == tokens.count(text)


@given(st.lists(st.text(max_size=30), max_size=20))
def test_the_counter_is_exact_on_short_garbage(pieces):
    counter = tokens.Counter()
    for piece in pieces:
        counter.add(piece)
    text = "".join(pieces)
    assert abs(counter.tokens - tokens.count(text)) <= len(text) // 256


def test_text_without_spaces_is_counted_within_its_bound():
    text = CHINESE.replace("\n", "") * 20
    counter = tokens.Counter()
    for char in text:
        counter.add(char)
    assert abs(counter.tokens - tokens.count(text)) <= len(text) // 256
