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
    """Any JSON; null if the model did not write JSON."""


class ToolResultContent(Part):
    _parts: ClassVar[dict[str, str]] = {"content": "content[]"}
    type: ClassVar[str] = "tool_result"
    call_id: str
    is_error: bool
    content: tuple[TextContent | ImageContent, ...]


class Totals(Part):
    """Tokens, and US dollars if the model's prices are known."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float | None = None
    """None if the model's prices are unknown: unknown is not zero."""
    is_partial: bool = False
    """Whether a reply broke off or was aborted. The true figures may then be higher. Absent if false."""
    reasoning: int | None = None
    """The part of `output` that was thinking, as the provider counts it. A sum is over the requests whose provider
    counts it, so the true figure may be higher; null as long as none has."""


class HostedShare(Part):
    """The part of a run in an extension that it takes from a host. The process belongs to the host, and may work for
    other runs at the same time: the run has a share of its CPU time, and its memory is there once for all runs."""

    pid: int
    """Pid of the host."""
    mode: str
    """leased: a process of it serves one run at a time; shared: it serves several."""
    busy_ms: float | None
    """Milliseconds in which it had requests of this run; while it had those of other runs too, this run's part. null:
    unknown, the host has not answered in time."""
    cpu_share_ms: float | None
    """CPU milliseconds of the process, by this run's part of the busy time: a share, not a measurement. null:
    unknown."""
    rss_peak_bytes: int | None
    """The highest resident size of the host's process trees of it, the same for all runs. null: unknown."""


class Cost(Part):
    """The cost of one extension: its whole process tree, and its frames. One with `hosted` has no process in the run:
    its `cpu_ms`, `rss_peak_bytes` and `processes_peak` are 0."""

    _parts: ClassVar[dict[str, str]] = {"hosted": "HostedShare"}
    state: str
    """asleep, waking, spawned, greeted, ready, backoff, stopping, exited or failed."""
    cpu_ms: int
    rss_peak_bytes: int
    """The highest resident size of the tree in any sample, or of one process by the kernel's count."""
    processes_peak: int
    frames_in: int
    frames_out: int
    bytes_in: int
    bytes_out: int
    calls: int
    """Number of requests that waited for an answer: tool calls and verdicts."""
    errors: int
    """Tool calls answered with `is_error`, and requests that failed because the extension died or was refused."""
    timeouts: int
    blocks: int
    events_dropped: int
    notes_dropped: int
    junk_lines: int
    """Number of lines on its stdout that were not frames; they are in its log."""
    p50_ms: float | None
    """Median time to answer in milliseconds, accurate to 7 % (log buckets); null before the first answer."""
    p99_ms: float | None
    exits: int
    """Number of its processes that ended for any reason: crashes, and stops in good order, but for `idle_stop_s`."""
    exit_status: str | None
    """How its last worker ended: `exit 1`, `signal SIGKILL`; null if none has ended."""
    restarts: int = 0
    unexpected_exits: int | None = None
    """Unexpected `exits`: crashes, ends by itself, hangs and limits; null in streams of older versions."""
    exits_by_host: int | None = None
    """`unexpected_exits` caused by the host for a limit, a hang or a broken protocol; null in older streams."""
    calls_made: int = 0
    """Number of calls of tools that it has made through its host."""
    start_waits: int = 0
    """Number of starts that requests waited for, since the extension starts when needed."""
    start_wait_s: float = 0.0
    """Seconds of these waits together, each from the first request until its process was ready."""
    answers_dropped: int = 0
    """Number of answers that no request waited for: late or repeated ones, or for another session."""
    model_tokens: int | None = None
    """Tokens of its tools' definitions and of their results, in all requests of the run to the model together, by their
    share of each; null without such a request."""
    model_usd: float | None = None
    """US dollars of `model_tokens`; null if they or a price are unknown."""
    hosted: HostedShare | None = None
    """The share of this run if the process is a host's; absent for a process of the run itself."""


class SentPrompt(Part):
    """How a prompt of an extension ended."""

    _parts: ClassVar[dict[str, str]] = {"usage": "Totals"}
    extension: str
    status: str
    """The status, as in `result`."""
    reason: str
    """Why it ended in this way; empty when the status is `ok`."""
    text: str
    """The last assistant message that a reader may see."""
    steps: int
    usage: Totals
    cost_usd: float | None


Content = TextContent | ImageContent | ToolCallContent | ToolResultContent
