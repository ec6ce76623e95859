import pytest

from trackside.handoff.plan import STARTS, order
from trackside.handoff.strategy import Turn


def turn_of(engine, *, has_tools=False):
    members = {"messages": b"[]"}
    return Turn(
        engine=engine, members=members, kept="x", spent_tokens=0, has_tools=has_tools
    )


@pytest.mark.parametrize(
    ("turn", "first", "names"),
    [
        pytest.param(turn_of("vllm"), "auto", ["continue", "completion"], id="auto"),
        pytest.param(
            turn_of("vllm"), "completion", ["completion", "continue"], id="chosen"
        ),
        pytest.param(
            turn_of("llama.cpp"), "in_place", ["continue", "completion"], id="in place"
        ),
        pytest.param(turn_of("llama.cpp"), "end", [], id="end"),
        pytest.param(
            turn_of("vllm", has_tools=True), "completion", ["continue"], id="tools"
        ),
        pytest.param(turn_of("openai"), "auto", ["continue"], id="unknown engine"),
        pytest.param(turn_of("mlx-lm"), "auto", [], id="no way"),
    ],
)
def test_the_chosen_way_leads_and_what_fits_follows(turn, first, names):
    assert first in STARTS
    assert order(turn, first) == names
