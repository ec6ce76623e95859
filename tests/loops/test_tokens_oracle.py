"""quicktok's counts against tiktoken's own encoder, given the same vocabulary."""

import pytest
import quicktok
import tiktoken
import tiktoken_ext.openai_public
from hypothesis import given
from hypothesis import strategies as st

from loop_texts import CHINESE, CODE, HEALTHY
from trackside.loops import tokens

RANKS = 100256  # of cl100k's merged tokens


@pytest.fixture(scope="module")
def oracle() -> tiktoken.Encoding:
    """Build tiktoken's cl100k with its own pattern, without its download."""
    vocabulary = quicktok.get_encoding("cl100k_base")
    ranks = {vocabulary.decode_single_token_bytes(i): i for i in range(RANKS)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            tiktoken_ext.openai_public, "load_tiktoken_bpe", lambda *_, **__: ranks
        )
        return tiktoken.Encoding(**tiktoken_ext.openai_public.cl100k_base())


@pytest.mark.parametrize(
    "text", [*HEALTHY.values(), CODE, CHINESE, "?! ?! 999999 \n\n\t  é🙂\u200b"]
)
def test_counts_are_tiktokens(oracle: tiktoken.Encoding, text: str) -> None:
    assert tokens.count(text) == len(oracle.encode_ordinary(text))


@given(st.text(max_size=80))
def test_counts_are_tiktokens_for_any_text(
    oracle: tiktoken.Encoding, text: str
) -> None:
    assert tokens.count(text) == len(oracle.encode_ordinary(text))
