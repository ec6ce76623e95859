"""Two sessions side by side."""

from __future__ import annotations

from typing import Any

import pytest

from agents.compare import differences, in_order, masked, without_ours


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("thread 01a22d99-7918-76d3-818a-3b40373eeff8:0", "thread <uuid>:0"),
        ("ses_dd266771affecAHSEUrYHx95kK", "<session>"),
        ("at http://127.0.0.1:38631/v1", "at http://<address>/v1"),
        ("since 2026-11-30T18:00:04.887Z on", "since <time> on"),
        ("started 1796039914466", "started <ms>"),
        (
            "Chunk ID: 04c25a\nWall time: 0.0312 s",
            "Chunk ID: <chunk>\nWall time: <seconds> s",
        ),
    ],
)
def test_what_an_agent_makes_anew_is_masked(told: str, kept: str) -> None:
    assert masked({"a": [told]}) == {"a": [kept]}


@pytest.mark.parametrize(
    "told", ["call_0", "colour.txt", "v1.18.33", "12 of 2026", 5, None, True]
)
def test_everything_else_is_kept(told: Any) -> None:
    assert masked(told) == told


def test_a_title_asked_beside_the_first_turn_has_one_place() -> None:
    title = {"body": {"messages": [{"role": "user", "content": "title?"}]}}
    first = {"body": {"messages": [], "tools": [{}]}}
    result = {"role": "tool", "content": "ok"}
    second = {"body": {"messages": [result], "tools": [{}]}}
    assert in_order([first, title, second]) == [title, first, second]
    assert in_order([title, second, first]) == [title, first, second]


def test_only_what_the_proxy_is_there_to_change_is_left_out() -> None:
    headers = {"host": "a", "accept-encoding": "identity", "authorization": "Bearer x"}
    body = {"timings_per_token": True, "stream": True}
    request = {"path": "/v1/messages", "headers": headers, "body": body}
    assert without_ours(request) == {
        "path": "/v1/messages",
        "headers": {"authorization": "Bearer x"},
        "body": {"stream": True},
    }


@pytest.mark.parametrize(
    ("one", "other", "lines"),
    [
        pytest.param({"a": [1, "b"]}, {"a": [1, "b"]}, [], id="equal"),
        pytest.param({"a": 1}, {}, ["a: 1 | <none>"], id="missing"),
        pytest.param({}, {"a": 1}, ["a: <none> | 1"], id="added"),
        pytest.param([1], [1, 2], ["[1]: <none> | 2"], id="longer"),
        pytest.param(
            {"a": [{"b": 1}]}, {"a": [{"b": 2}]}, ["a[0].b: 1 | 2"], id="deep"
        ),
        pytest.param({"a": {}}, {"a": []}, ["a: {} | []"], id="another kind"),
        pytest.param("same x", "same y", [": same x | same y"], id="text"),
        pytest.param("ab", "abc", [": ab | abc"], id="cut text"),
    ],
)
def test_differences(one: Any, other: Any, lines: list[str]) -> None:
    assert list(differences(one, other)) == lines


def test_a_long_text_is_shown_where_it_departs() -> None:
    (line,) = differences("x" * 9000 + "HERE", "x" * 9000 + "THERE")
    assert "HERE" in line
    assert len(line) < 150
