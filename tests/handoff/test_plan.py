import msgspec
import pytest

from trackside.handoff.plan import STARTS, WAYS, order, strategy_of
from trackside.handoff.strategy import Turn

TWO = ["continue", "completion"]


def turn_of(engine, *, has_tools=False):
    members = {"messages": b"[]"}
    return Turn(
        engine=engine, members=members, kept="x", spent_tokens=0, has_tools=has_tools
    )


@pytest.mark.parametrize(
    ("turn", "first", "names"),
    [
        pytest.param(turn_of("vllm"), "auto", ["exact", *TWO], id="auto"),
        pytest.param(
            turn_of("vllm"),
            "completion",
            ["completion", "exact", "continue"],
            id="chosen",
        ),
        pytest.param(turn_of("llama.cpp"), "in_place", TWO, id="in place"),
        pytest.param(turn_of("llama.cpp"), "end", [], id="end"),
        pytest.param(
            turn_of("vllm", has_tools=True),
            "completion",
            ["exact", "continue"],
            id="tools",
        ),
        pytest.param(turn_of("openai"), "auto", ["continue"], id="unknown engine"),
        pytest.param(turn_of("mlx-lm"), "auto", ["afresh"], id="anew"),
        pytest.param(turn_of("lmstudio"), "auto", [], id="no way"),
    ],
)
def test_the_chosen_way_leads_and_what_fits_follows(turn, first, names):
    assert first in STARTS
    assert order(turn, first) == names


TEXT = {"dialect": "completions", "members": {"prompt": b'"Hi"'}}


@pytest.mark.parametrize("first", STARTS)
@pytest.mark.parametrize(
    ("engine", "more", "names"),
    [
        pytest.param("sglang", {}, ["continue"], id="sglang"),
        pytest.param("ollama", {}, ["continue"], id="ollama"),
        pytest.param("omlx", {}, ["continue"], id="omlx"),
        pytest.param("lmstudio", {}, [], id="lmstudio"),
        pytest.param("deepseek", {}, ["continue"], id="deepseek"),
        pytest.param("openai", {}, ["continue"], id="unknown"),
        pytest.param("mlx-lm", {}, ["afresh"], id="mlx-lm"),
        pytest.param("sglang", TEXT, ["completion"], id="sglang's text"),
        pytest.param("omlx", TEXT, ["completion"], id="omlx's text"),
        pytest.param("lmstudio", TEXT, ["completion"], id="lmstudio's text"),
        pytest.param("mlx-lm", TEXT, ["completion"], id="mlx-lm's text"),
        pytest.param("openai", TEXT, ["completion"], id="unknown text"),
        pytest.param("ollama", TEXT, [], id="ollama's prompt is a message"),
    ],
)
def test_a_strategy_that_an_engine_lacks_leaves_those_it_has(
    engine, more, names, first
):
    turn = msgspec.structs.replace(turn_of(engine), **more)
    assert order(turn, first) == ([] if first == "end" else names)


def test_every_way_is_told_as_a_strategy_that_can_be_chosen():
    assert {strategy_of(way) for way in WAYS} < set(STARTS)
