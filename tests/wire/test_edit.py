import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.wire.edit import add_members, cut_member, merge_members
from trackside.wire.errors import WireError

TEXT = st.text(st.characters(codec="utf-8"), max_size=5)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(-9, 9), TEXT
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(["usage", "id", "é", 'a"b', "\\", ""]) | TEXT
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
STYLES = st.fixed_dictionaries(
    {
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :  ")]),
    }
)


def members(found):
    """Each member as its own JSON text, in order, to compare byte by byte."""
    return found.split(b"\0")


@given(OBJECTS, OBJECTS, STYLES, st.sampled_from(["", " ", "\r\n\t"]))
def test_added_members_are_there_and_nothing_else_moves(old, new, style, space):
    text = json.dumps(old, **style)
    body = (space + "{" + space + text[1:-1] + space + "}" + space).encode()
    found = add_members(body, new)
    assert json.loads(found) == {**old, **new}
    assert list(json.loads(found)) == list({**old, **new})
    if not new.keys() & old.keys():
        # one insertion, behind the last member
        kept = body[: len(body) - len(body.lstrip()) + 1] if not old else None
        head = kept if kept is not None else body[: body.rindex(text[1:-1].encode())]
        tail = (space + "}" + space).encode() if old else body[len(head) :]
        assert found.startswith(head)
        assert found.endswith(tail)
