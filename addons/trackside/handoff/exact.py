"""Hand vLLM the very token ids to go on from, in a chat request.

Every template then keeps the reasoning, and the engine goes on parsing reasoning and
tool calls, which a text completion would lose. Phase 1 is not touched for it: its ids
are rendered anew, at the trip, and told from its token count to be the same. The chat
request is one that would continue the message: what an older engine makes of it.
Source: vLLM 0.33 renderers/online_renderer.py (`_reused_prompt_token_ids`).
"""

import msgspec

from trackside.handoff.body import appended, has_media, join
from trackside.handoff.continuation import FORMS, PATH
from trackside.handoff.strategy import Call, Calls, Turn, limited, streamed
from trackside.handoff.text import block, closed_block
from trackside.handoff.tokenised import TAIL_TOKENS, prompt_of, text_of, tokens_of
from trackside.wire.errors import WireError

_CHANGES_THE_PROMPT = (
    "kv_transfer_params",
    "echo",
    "documents",
    "truncate_prompt_tokens",
    "mm_processor_kwargs",
    "media_io_kwargs",
    "add_generation_prompt",
    "continue_final_message",
    "add_special_tokens",
)


class ExactIds:
    """Phase 2 behind phase 1's own token ids."""

    def fits(self, turn: Turn) -> bool:
        """See `Strategy.fits`."""
        members = turn.members
        if turn.engine != "vllm" or turn.dialect != "chat" or "messages" not in members:
            return False
        changed = any(members.get(k, b"null") != b"null" for k in _CHANGES_THE_PROMPT)
        return not changed and not has_media(members["messages"])

    def calls(self, turn: Turn) -> Calls:
        """See `Strategy.calls`."""
        prompt = (yield from prompt_of(turn.members)).tokens
        if turn.prompt_tokens not in (None, len(prompt)):
            raise WireError(
                f"/tokenize made {len(prompt)} tokens of a prompt that "
                f"had {turn.prompt_tokens}"
            )
        tail = yield from text_of(prompt[-TAIL_TOKENS:], turn.members)
        opener, _ = block(tail)
        text = closed_block(tail, turn.kept)
        ending = yield from tokens_of(text, turn.members)
        if opener and opener.strip() not in (ending.token_strs or ()):
            raise WireError(f"{opener.strip()} is no token of this model")
        ids = {"prompt_token_ids": prompt + ending.tokens}
        message, extra = FORMS["vllm"](turn.kept)
        limited_members = limited(turn.members, turn.spent_tokens)
        members = streamed(limited_members, running_usage=True)
        members["messages"] = appended(members["messages"], message)
        members |= {key: msgspec.json.encode(value) for key, value in extra.items()}
        members["kv_transfer_params"] = msgspec.json.encode(ids)
        least = len(prompt) + len(ending.tokens) // 2
        return Call(PATH, join(members), least_prompt_tokens=least)
