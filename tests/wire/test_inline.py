import pytest
from hypothesis import given
from hypothesis import strategies as st

from trackside.wire.inline import THINK_TAGS, ThinkSplitter


def split(parts):
    """The reasoning and the content in `parts`, joined."""
    splitter = ThinkSplitter()
    found = [pair for part in parts for pair in splitter.feed(part)]
    found += splitter.release()
    assert all(text for _, text in found)
    kinds = [kind for kind, _ in found]
    assert kinds == sorted(kinds, reverse=True)  # reasoning never after content
    return tuple(
        "".join(text for kind, text in found if kind == wanted)
        for wanted in ("reasoning", "content")
    )


@pytest.mark.parametrize(
    ("text", "reasoning", "content"),
    [
        pytest.param("Hello", "", "Hello", id="no-tags"),
        pytest.param("<think>a</think>b", "a", "b", id="plain"),
        pytest.param("\n <think>\na\n</think>\n\nb", "\na\n", "\n\nb", id="spaces"),
        pytest.param("<think>a", "a", "", id="unclosed"),
        pytest.param("<think>a</thi", "a</thi", "", id="cut-in-closer"),
        pytest.param("<think></think>b", "", "b", id="empty-block"),
        pytest.param("<think>a</thinking>b", "a</thinking>b", "", id="wrong-closer"),
        pytest.param("<think><think>a</think>b", "<think>a", "b", id="twice-opened"),
        pytest.param("<think>a</think>b<think>c", "a", "b<think>c", id="later-opener"),
        pytest.param("a <think>b</think>", "", "a <think>b</think>", id="not-first"),
        pytest.param("<thin ice", "", "<thin ice", id="nearly-an-opener"),
        pytest.param("<thin", "", "<thin", id="cut-in-opener"),
        pytest.param("\n\n", "", "\n\n", id="only-space"),
        pytest.param(" " * 64 + "<think>a", "a", "", id="64-spaces"),
        pytest.param(" " * 65 + "<think>", "", " " * 65 + "<think>", id="65-spaces"),
        pytest.param("</think>b", "", "</think>b", id="closer-without-opener"),
    ],
)
def test_text_is_split_the_same_however_it_comes(text, reasoning, content):
    assert split([text]) == (reasoning, content)
    assert split(text) == (reasoning, content)
    for at in range(len(text)):
        assert split([text[:at], text[at:]]) == (reasoning, content)


@pytest.mark.parametrize(("opener", "closer"), THINK_TAGS.items())
def test_every_pair_of_tags_is_known(opener, closer):
    assert split(f" {opener}a{closer}b") == ("a", "b")


@given(
    st.lists(
        st.sampled_from([*"<>/[| \nab", *THINK_TAGS, *THINK_TAGS.values()]), max_size=12
    ),
    st.lists(st.integers(1, 4)),
)
def test_no_text_is_lost_or_moved(words, sizes):
    text = "".join(words)
    rest, parts = text, []
    for size in sizes:
        parts.append(rest[:size])
        rest = rest[size:]
    assert split([*parts, rest]) == split([text])
    reasoning, content = split([text])
    if not text.lstrip().startswith(tuple(THINK_TAGS)):
        assert (reasoning, content) == ("", text)
    else:
        assert text.endswith(content)
        assert reasoning in text


def test_only_what_may_be_a_tag_is_held_back():
    splitter = ThinkSplitter()
    assert splitter.feed("<think>one </th") == [("reasoning", "one ")]
    assert splitter.feed("ey <") == [("reasoning", "</they ")]
    assert splitter.feed("/think>two <") == [("content", "two <")]
    assert splitter.settled


def test_release_in_the_middle_of_reasoning_leaves_it_open():
    splitter = ThinkSplitter()
    splitter.feed("<think>one<")
    assert splitter.release() == [("reasoning", "<")]
    assert splitter.feed("two</think>three") == [
        ("reasoning", "two"),
        ("content", "three"),
    ]
