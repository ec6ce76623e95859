"""Tool calls and turns that repeat across a thread."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.loops.toolcalls import Call, Repetition, ToolCalls

READ, RUN, EDIT = (Call(name, "{}") for name in ("read", "run", "edit"))


def findings(turns, **parameters):
    thread = ToolCalls(**parameters)
    return [thread.add(turn) for turn in turns]


def test_the_same_call_three_times_is_found_once():
    assert findings([[READ]] * 6) == [
        None,
        None,
        Repetition("call", ("read",), 3, 3),
        None,
        None,
        None,
    ]


def test_a_cycle_of_calls_is_found():
    turns = [[EDIT], [RUN], [READ]] * 3
    assert findings(turns)[-1] == Repetition("cycle", ("edit", "run", "read"), 3, 9)
    assert findings(turns)[:-1] == [None] * 8


def test_parallel_calls_of_a_turn_count_one_by_one():
    assert findings([[READ, READ, READ]]) == [Repetition("call", ("read",), 3, 1)]
    assert findings([[RUN, EDIT]] * 3)[-1] == Repetition("cycle", ("run", "edit"), 3, 3)


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param([[RUN], [EDIT]] * 2, id="two-copies"),
        pytest.param([[READ], [READ], [RUN], [READ], [READ]], id="interrupted"),
        pytest.param(
            [[Call("read", f'{{"line": {n}}}')] for n in range(9)], id="arguments"
        ),
        pytest.param([[READ], [], [READ], [], [READ]], id="answers-between"),
    ],
)
def test_work_is_no_repetition(turns):
    assert findings(turns) == [None] * len(turns)


def test_a_repetition_that_was_broken_is_found_again():
    found = findings([[READ]] * 3 + [[RUN]] + [[READ]] * 3)
    assert [bool(finding) for finding in found] == [0, 0, 1, 0, 0, 0, 1]


def test_spelling_of_arguments_does_not_count():
    turns = [
        [Call("read", '{"path": "a", "line": 1}')],
        [Call("read", '{"line":1,"path":"a"}')],
        [Call("read", '{ "path":"a","line" : 1 }')],
    ]
    assert findings(turns)[-1] is not None


def test_arguments_that_are_no_json_are_compared_as_text():
    assert findings([[Call("sh", "ls  -l")], [Call("sh", "ls -l")]], copies=2)[-1]
    deep = Call("sh", "[" * 100_000)
    assert findings([[deep], [deep]], copies=2)[-1]


def test_a_turn_that_repeats_its_text_is_found():
    thread = ToolCalls()
    found = [thread.add([], text) for text in ("Done.", "I am  stuck.", "I am stuck.")]
    assert found == [None] * 3
    assert thread.add([], "I am stuck.\n") == Repetition("turn", (), 3, 3)
    assert thread.add([], "I am stuck.") is None


def test_empty_turns_are_no_repetition():
    assert findings([[]] * 9) == [None] * 9


@given(st.lists(st.lists(st.sampled_from([READ, RUN, EDIT]), max_size=4), max_size=30))
def test_what_is_found_stands_there(turns):
    thread = ToolCalls()
    calls = []
    for turn in turns:
        found = thread.add(turn)
        calls = [*calls, *turn] if turn else []
        if found and len(turn) == 1:
            span = calls[-len(found.calls) * found.copies :]
            assert [call.name for call in span] == [*found.calls] * found.copies
