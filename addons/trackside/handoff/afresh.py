"""Ask again without thinking, where an engine can't go on from reasoning at all.

The reasoning is lost, and its time: what the client gets is an answer that was not
thought about, instead of none. If the model thinks all the same, the turn ends.
Source: mlx-lm 0.32 server.py (`chat_template_kwargs`; it always opens a new turn).
"""

from trackside.handoff.body import join
from trackside.handoff.continuation import PATH
from trackside.handoff.strategy import Call, Calls, Turn, limited, streamed
from trackside.wire.edit import add_members


class Afresh:
    """The client's own request, with the template's switch for thinking off."""

    def fits(self, turn: Turn) -> bool:
        """See `Strategy.fits`."""
        is_chat = turn.dialect == "chat" and "messages" in turn.members
        return is_chat and turn.engine == "mlx-lm"

    def calls(self, turn: Turn) -> Calls:
        """See `Strategy.calls`."""
        members = streamed(limited(turn.members, turn.spent_tokens))
        told = members.get("chat_template_kwargs", b"{}")
        kwargs = told if told.startswith(b"{") else b"{}"
        kwargs = add_members(kwargs, {"enable_thinking": False})
        members["chat_template_kwargs"] = kwargs
        return Call(PATH, join(members), may_reason=False)
        yield  # a generator that makes no helper call
