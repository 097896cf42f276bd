"""zot for Python, for programs that embed an agent.

    from pyzot import Runtime, TextDelta

    with Runtime() as zot:
        print(zot.run("what does this project do?").text)

The agent runs in a child process, so that this process gets none of its handlers, loops or heavy imports. Names are
imported at their first use. The command `zot` starts in `pyzot.__main__`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from zotext import ToolError

    from .answers import (
        Alarm,
        CommandInfo,
        CommandOutcome,
        ExtensionStats,
        Forked,
        ModelInfo,
        Reloaded,
        ReloadError,
        Resumed,
        SessionFile,
        SessionInfo,
        SkillInfo,
        State,
        ToolInfo,
        ToolOutcome,
    )
    from .async_host import AsyncHost, AsyncWatch
    from .async_runtime import AsyncEventStream, AsyncRuntime
    from .batches.async_batch import AsyncBatch
    from .batches.batch import Batch
    from .batches.results import BatchSummary, CommandEnd, LostRequests, Score, TaskResult, TaskUsage
    from .errors import (
        BatchError,
        BusyError,
        ClosedError,
        HostError,
        HostGoneError,
        HostRefusedError,
        NoHostError,
        PromptFailed,
        ProtocolError,
        RefusedError,
        RuntimeDied,
        SessionBusyError,
        SeveralHostsError,
        UnreadError,
        ZotError,
    )
    from .events import (
        AnyEvent,
        AssistantMessage,
        AssistantStart,
        ClearNotes,
        Command,
        CompactDone,
        CompactStart,
        Done,
        Error,
        ExtDisplay,
        ExtensionNotice,
        ExtInsert,
        ExtNotify,
        PanelClose,
        PanelOpen,
        PanelRender,
        PermissionAnswered,
        PermissionAsked,
        Result,
        Retry,
        Session,
        TextDelta,
        ToolCall,
        ToolProgress,
        ToolResult,
        ToolUseArgs,
        ToolUseEnd,
        ToolUseStart,
        TurnEnd,
        TurnStart,
        Usage,
        UserMessage,
    )
    from .host import Host, Watch
    from .host_answers import (
        CommandAnswer,
        ContentBlock,
        ExtensionStatus,
        HostInfo,
        HostStats,
        LimitUse,
        ModifiedResult,
        Panel,
        PendingRequest,
        ReloadOutcome,
        SkippedExtension,
        Stats,
        ToolAnswer,
        Verdict,
    )
    from .in_program.extensions import ProgramExtension
    from .parts import (
        Content,
        Cost,
        ImageContent,
        SentPrompt,
        TextContent,
        ToolCallContent,
        ToolResultContent,
        Totals,
    )
    from .record import Event, UnknownEvent
    from .runtime import EventStream, Runtime

    __version__: str

__all__ = [
    "Alarm",
    "AnyEvent",
    "AssistantMessage",
    "AssistantStart",
    "AsyncBatch",
    "AsyncEventStream",
    "AsyncHost",
    "AsyncRuntime",
    "AsyncWatch",
    "Batch",
    "BatchError",
    "BatchSummary",
    "BusyError",
    "ClearNotes",
    "ClosedError",
    "Command",
    "CommandAnswer",
    "CommandEnd",
    "CommandInfo",
    "CommandOutcome",
    "CompactDone",
    "CompactStart",
    "Content",
    "ContentBlock",
    "Cost",
    "Done",
    "Error",
    "Event",
    "EventStream",
    "ExtDisplay",
    "ExtInsert",
    "ExtNotify",
    "ExtensionNotice",
    "ExtensionStats",
    "ExtensionStatus",
    "Forked",
    "Host",
    "HostError",
    "HostGoneError",
    "HostInfo",
    "HostRefusedError",
    "HostStats",
    "ImageContent",
    "LimitUse",
    "LostRequests",
    "ModelInfo",
    "ModifiedResult",
    "NoHostError",
    "Panel",
    "PanelClose",
    "PanelOpen",
    "PanelRender",
    "PendingRequest",
    "PermissionAnswered",
    "PermissionAsked",
    "ProgramExtension",
    "PromptFailed",
    "ProtocolError",
    "RefusedError",
    "ReloadError",
    "ReloadOutcome",
    "Reloaded",
    "Result",
    "Resumed",
    "Retry",
    "Runtime",
    "RuntimeDied",
    "Score",
    "SentPrompt",
    "Session",
    "SessionBusyError",
    "SessionFile",
    "SessionInfo",
    "SeveralHostsError",
    "SkillInfo",
    "SkippedExtension",
    "State",
    "Stats",
    "TaskResult",
    "TaskUsage",
    "TextContent",
    "TextDelta",
    "ToolAnswer",
    "ToolCall",
    "ToolCallContent",
    "ToolError",
    "ToolInfo",
    "ToolOutcome",
    "ToolProgress",
    "ToolResult",
    "ToolResultContent",
    "ToolUseArgs",
    "ToolUseEnd",
    "ToolUseStart",
    "Totals",
    "TurnEnd",
    "TurnStart",
    "UnknownEvent",
    "UnreadError",
    "Usage",
    "UserMessage",
    "Verdict",
    "Watch",
    "ZotError",
]
_MODULES = (
    "errors",
    "record",
    "parts",
    "events",
    "answers",
    "runtime",
    "host_answers",
    "host",
    "batches.results",
    "batches.batch",
    "async_runtime",
    "async_host",
    "batches.async_batch",
    "in_program.extensions",
)
"""Modules with the names. A module is imported only if no earlier module has the name."""


if not TYPE_CHECKING:  # a type checker would treat every name as an object

    def __getattr__(name: str) -> object:
        """Imports the module of a name at its first use: `import pyzot` alone, as in `zot`, takes no time."""
        if name == "__version__":
            from importlib.metadata import version

            return version("pyzot")
        if name == "ToolError":
            from zotext import ToolError

            return ToolError
        if name in __all__:
            from importlib import import_module

            for module in _MODULES:
                if hasattr(found := import_module(f".{module}", __name__), name):
                    globals()[name] = value = getattr(found, name)
                    return value
        raise AttributeError(f"module 'pyzot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
