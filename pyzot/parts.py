"""The parts of events that are objects themselves.

Generated from the definitions of the wire by `python -m wire.rpc.python_classes`; not to be edited.
"""

from __future__ import annotations

from .record import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class TextContent(Part):
    type: ClassVar[str] = "text"
    text: str


class ImageContent(Part):
    type: ClassVar[str] = "image"
    mime_type: str
    bytes: int
    """Size of the decoded image; the data itself is not repeated in events."""


class ToolCallContent(Part):
    type: ClassVar[str] = "tool_call"
    id: str
    name: str
    args: Any
    """Any JSON; null when what the model wrote was not JSON."""


class ToolResultContent(Part):
    _parts: ClassVar[dict[str, str]] = {"content": "content[]"}
    type: ClassVar[str] = "tool_result"
    call_id: str
    is_error: bool
    content: tuple[TextContent | ImageContent, ...]


class Totals(Part):
    """Tokens, and dollars where the model's prices are known."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float | None = None
    """None when the model's prices are not known: unknown is not zero."""
    is_partial: bool = False
    """Whether a reply broke off or was aborted. All figures are then at least as high as here. Absent if not."""


class Cost(Part):
    """What one extension cost: its whole process tree, and its frames."""

    state: str
    """spawned, greeted, ready, backoff, stopping, exited or failed."""
    cpu_ms: int
    rss_peak_bytes: int
    """The highest resident size of the tree in any sample, or of a single process as the kernel counted it."""
    processes_peak: int
    frames_in: int
    frames_out: int
    bytes_in: int
    bytes_out: int
    calls: int
    """Requests that waited for an answer: tool calls and verdicts."""
    errors: int
    """Tool calls answered with `is_error`, and requests that failed because the extension died or was refused."""
    timeouts: int
    blocks: int
    events_dropped: int
    notes_dropped: int
    junk_lines: int
    """Lines on its stdout that were not frames; kept in its log."""
    p50_ms: float | None
    """Time to answer, accurate to 7 % (log buckets); null before the first answer."""
    p99_ms: float | None
    exits: int
    """Processes of it that have ended, for whatever reason: crashes, and stops in good order."""
    exit_status: str | None
    """Of the worker that ended last: `exit 1`, `signal SIGKILL`; null if none has ended."""
    restarts: int = 0
    unexpected_exits: int | None = None
    """Of `exits`, crashes, ends by itself, hangs and limits; null in streams of older versions."""
    exits_by_host: int | None = None
    """Of `unexpected_exits`, those for a limit, a hang or a broken protocol; null in streams of older versions."""


class SentPrompt(Part):
    """How a prompt ended that an extension has sent."""

    _parts: ClassVar[dict[str, str]] = {"usage": "Totals"}
    extension: str
    status: str
    """As in `result`."""
    reason: str
    """Empty when the status is `ok`."""
    text: str
    """The last assistant message that a reader may see."""
    steps: int
    usage: Totals
    cost_usd: float | None


Content = TextContent | ImageContent | ToolCallContent | ToolResultContent
