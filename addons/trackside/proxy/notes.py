"""What a person sees of a flow in mitmweb: its comment and its marker."""

from mitmproxy import http

SEPARATOR = " · "
MARKERS = {"diff": ":warning:", "guard": ":repeat:", "turn": ":hourglass:"}
"""What each addon marks a flow with that needs a look."""


def annotate(
    flow: http.HTTPFlow, addon: str, text: str, marker: str | None = None
) -> None:
    """Put an addon's line into the flow's comment, in place of its earlier one.

    Parameters:
        text: made one line, and without the separator.
        marker: name of an emoji as in ":warning:"; None takes the addon's own away,
            which a replay may find there, and leaves any other.
    """
    lines = flow.comment.split(SEPARATOR) if flow.comment else []
    lines = [line for line in lines if not line.startswith(f"{addon} ")]
    line = " ".join(text.split()).replace(SEPARATOR, " - ")
    flow.comment = SEPARATOR.join([*lines, f"{addon} {line}"])
    if marker:
        flow.marked = marker
    elif flow.marked == MARKERS.get(addon):
        flow.marked = ""
