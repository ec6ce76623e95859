"""What to do about each cause, in one plain sentence."""

ADVICE: dict[str, str] = {
    "volatile_stamp": (
        "freeze it where the message was created, or move it into the newest message"
    ),
    "volatile_stamp/clock": "freeze the time where the message was created",
    "volatile_stamp/date": "freeze the date when the session begins",
    "volatile_stamp/nonce": "send the nonce in a header, not in the prompt",
    "volatile_stamp/uuid": "draw the id once a session, or keep it out of the prompt",
    "volatile_stamp/counter": "put the counter into the newest message only",
    "volatile_stamp/tmp_path": "use one directory a session, or a fixed name for it",
    "tools_reordered": "sort the tools by name before each request",
    "tools_changed": "fix the set of tools when the session begins",
    "tools_changed/flap": "keep a tool in the list while its server reconnects",
    "tools_changed/edited": "freeze the tool descriptions when the session begins",
    "tool_key_order": "write each schema with its keys in one fixed order",
    "system_changed": "freeze the system text when the session begins",
    "system_changed/env": "tell changes of the environment in a new message instead",
    "system_changed/rules_file": "tell changes of the rules in a new message instead",
    "system_changed/memory": "put recalled memory into the newest message",
    "system_changed/mode": "tell the mode in the newest message instead",
    "injection_moved": "leave a reminder where it was first sent, or send it only last",
    "history_edited": "never rewrite a message that was sent",
    "history_edited/tool_result_pruned": (
        "cut tool results before they are first sent, or prune rarely and far back"
    ),
    "history_edited/reasoning_dropped": "send the reasoning back as it was received",
    "history_edited/tool_call_rewritten": (
        "send tool calls back byte for byte as the engine wrote them"
    ),
    "history_edited/whitespace": "send text back untrimmed",
    "history_edited/media": "keep images where they were, or drop them once for all",
    "history_reordered": "send parallel tool results in the order of their calls",
    "history_dropped": "drop many messages at once and rarely, not a few each turn",
    "compacted": "expected once; compact late, and append the summary request",
    "params_changed": "keep the parameters of a session fixed",
    "params_changed/model": "each model has a cache of its own: keep one a thread",
    "params_changed/num_ctx": "fix num_ctx: another value reloads the model",
    "params_changed/salt": "keep the cache salt for the whole session",
    "resend": "cancel the first request, or wait longer for its first token",
    "session_border": (
        "put what tasks share in front, byte-identical, and keep it short of stamps"
    ),
}
"""Cause, or cause and sub, -> what to do. The more special entry wins."""


def advise(cause: str, sub: str = "") -> str:
    """Return what to do about a cause, "" if there is nothing to do.

    Example:
        >>> advise("volatile_stamp", "clock")
        'freeze the time where the message was created'
        >>> advise("wire_only", "ids")
        ''
    """
    return ADVICE.get(f"{cause}/{sub}") or ADVICE.get(cause, "")
