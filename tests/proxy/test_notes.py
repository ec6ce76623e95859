import pytest
from mitmproxy.test import tflow

from trackside.proxy.notes import MARKERS, annotate


def test_each_addon_has_one_line() -> None:
    flow = tflow.tflow()
    annotate(flow, "diff", "first")
    annotate(flow, "guard", "no loop")
    annotate(flow, "diff", "second")
    assert flow.comment == "guard no loop · diff second"


def test_a_marker_stays_until_another_comes() -> None:
    flow = tflow.tflow()
    annotate(flow, "guard", "tripped", ":repeat:")
    annotate(flow, "diff", "fine")
    assert flow.marked == ":repeat:"


@pytest.mark.parametrize("addon", MARKERS)
def test_what_a_replay_finds_no_more_is_unmarked(addon: str) -> None:
    flow = tflow.tflow()
    annotate(flow, addon, "broken", MARKERS[addon])
    annotate(flow, addon, "fine")
    assert flow.marked == ""


def test_a_persons_own_comment_is_kept() -> None:
    flow = tflow.tflow()
    flow.comment = "look at this"
    annotate(flow, "guard", "no loop")
    assert flow.comment == "look at this · guard no loop"


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        pytest.param("guarded", "z", "guarded · guard z", id="a word like its name"),
        pytest.param("", "a\n b · c", "guard a b - c", id="one line, one part"),
    ],
)
def test_a_line_is_found_again(before: str, text: str, after: str) -> None:
    flow = tflow.tflow()
    flow.comment = before
    annotate(flow, "guard", text)
    annotate(flow, "guard", text)
    assert flow.comment == after
