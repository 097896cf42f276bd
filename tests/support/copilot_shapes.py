"""The shapes of events and answers that `@github/copilot-sdk` declares: `dist/generated/session-events.d.ts` and
`rpc.d.ts`. A member is required here if version 1.0.0 or 1.0.14 requires it, and allowed if both know it.

Members that neither declares and that the authoring guide promises are marked.
"""

from __future__ import annotations

from typing import Any, List, Literal  # noqa: UP035  (a member of a shape is called list)

import msgspec


class Shape(msgspec.Struct, forbid_unknown_fields=True):
    """An object with exactly these members. Optional ones are those with a default."""


# --- events -------------------------------------------------------------------------------------------------


class Event(Shape):
    id: str
    timestamp: str
    parentId: str | None  # noqa: N815
    type: str
    data: msgspec.Raw
    ephemeral: Literal[True] | msgspec.UnsetType = msgspec.UNSET


class AttachedFile(Shape):
    type: Literal["file"]
    path: str
    displayName: str  # noqa: N815


class UserMessage(Shape):
    content: str
    attachments: list[AttachedFile] = []
    source: str = ""


class AssistantMessage(Shape):
    messageId: str  # noqa: N815
    content: str
    toolRequests: list[Any] = []  # noqa: N815
    turnId: str = ""  # noqa: N815


class Turn(Shape):
    turnId: str  # noqa: N815


class ToolStart(Shape):
    toolCallId: str  # noqa: N815
    toolName: str  # noqa: N815
    arguments: dict[str, Any] = {}
    turnId: str = ""  # noqa: N815


class TextContent(Shape, tag_field="type", tag="text"):
    text: str


class ImageContent(Shape, tag_field="type", tag="image"):
    data: str
    mimeType: str  # noqa: N815


class ToolOutcome(Shape):
    content: str
    contents: list[TextContent | ImageContent] = []


class ToolFailure(Shape):
    message: str


class ToolComplete(Shape):
    toolCallId: str  # noqa: N815
    toolName: str  # noqa: N815
    """The guide's."""
    success: bool
    result: ToolOutcome | msgspec.UnsetType = msgspec.UNSET
    error: ToolFailure | msgspec.UnsetType = msgspec.UNSET
    turnId: str = ""  # noqa: N815


class BackgroundTasks(Shape):
    agents: list[Any]
    shells: list[Any]


class Idle(Shape):
    aborted: bool
    backgroundTasks: BackgroundTasks  # noqa: N815
    """The guide's."""


class Context(Shape):
    cwd: str


class SessionStart(Shape):
    sessionId: str  # noqa: N815
    version: int
    producer: str
    copilotVersion: str  # noqa: N815
    startTime: str  # noqa: N815
    context: Context
    selectedModel: str = ""  # noqa: N815


class ModelChange(Shape):
    newModel: str  # noqa: N815
    previousModel: str = ""  # noqa: N815


class Usage(Shape):
    model: str
    inputTokens: int  # noqa: N815
    outputTokens: int  # noqa: N815
    cacheReadTokens: int  # noqa: N815
    cacheWriteTokens: int  # noqa: N815
    reasoningTokens: int = 0  # noqa: N815


class Abort(Shape):
    reason: str


class Error(Shape):
    errorType: str  # noqa: N815
    message: str
    stack: str


class PermissionRequested(Shape):
    requestId: str  # noqa: N815
    permissionRequest: dict[str, Any]  # noqa: N815
    resolvedByHook: bool = False  # noqa: N815


class ShutdownChanges(Shape):
    linesAdded: int  # noqa: N815
    linesRemoved: int  # noqa: N815
    filesModified: list[str]  # noqa: N815


class Shutdown(Shape):
    shutdownType: Literal["routine", "error"]  # noqa: N815
    totalPremiumRequests: int  # noqa: N815
    """The guide's."""
    totalApiDurationMs: int  # noqa: N815
    sessionStartTime: int  # noqa: N815
    codeChanges: ShutdownChanges  # noqa: N815
    modelMetrics: dict[str, Any]  # noqa: N815
    errorReason: str | msgspec.UnsetType = msgspec.UNSET  # noqa: N815


EVENTS: dict[str, type[Shape]] = {
    "user.message": UserMessage,
    "assistant.message": AssistantMessage,
    "assistant.turn_start": Turn,
    "assistant.turn_end": Turn,
    "tool.execution_start": ToolStart,
    "tool.execution_complete": ToolComplete,
    "session.idle": Idle,
    "session.error": Error,
    "permission.requested": PermissionRequested,
    "session.shutdown": Shutdown,
    "session.start": SessionStart,
    "session.model_change": ModelChange,
    "assistant.usage": Usage,
    "abort": Abort,
}

# --- answers ------------------------------------------------------------------------------------------------


class Logged(Shape):
    eventId: str  # noqa: N815


class Sent(Shape):
    messageId: str  # noqa: N815


class Success(Shape):
    success: bool
    error: str = ""


class Messages(Shape):
    events: list[Event]


class Handle(Shape):
    handle: str


class Snapshot(Shape):
    sessionId: str  # noqa: N815
    startTime: str  # noqa: N815
    modifiedTime: str  # noqa: N815
    isRemote: bool  # noqa: N815
    alreadyInUse: bool  # noqa: N815
    workspacePath: str | None  # noqa: N815
    workingDirectory: str  # noqa: N815
    currentMode: Literal["interactive", "plan", "autopilot"]  # noqa: N815
    sessionLimits: None  # noqa: N815
    selectedModel: str = ""  # noqa: N815


class CurrentModel(Shape):
    modelId: str = ""  # noqa: N815
    reasoningEffort: str = ""  # noqa: N815


class Supports(Shape):
    reasoningEffort: bool = False  # noqa: N815
    vision: bool = False


class Limits(Shape):
    max_context_window_tokens: int = 0
    max_output_tokens: int = 0
    max_prompt_tokens: int = 0


class Capabilities(Shape):
    supports: Supports
    limits: Limits


class Model(Shape):
    id: str
    name: str
    capabilities: Capabilities


class Models(Shape):
    list: List[Model]  # noqa: UP006


class Switched(Shape):
    modelId: str = ""  # noqa: N815


class Name(Shape):
    name: str | None


class Plan(Shape):
    exists: bool
    content: str | None
    path: str | None


class WorkspaceDetails(Shape):
    id: str
    cwd: str = ""
    git_root: str = ""
    branch: str = ""
    created_at: str = ""


class Workspace(Shape):
    workspace: WorkspaceDetails | None
    path: str = ""


class Files(Shape):
    files: list[str]


class FileContent(Shape):
    content: str


class MetricChanges(ShutdownChanges):
    filesModifiedCount: int  # noqa: N815


class ModelRequests(Shape):
    count: int
    cost: float


class ModelUsage(Shape):
    inputTokens: int  # noqa: N815
    outputTokens: int  # noqa: N815
    cacheReadTokens: int  # noqa: N815
    cacheWriteTokens: int  # noqa: N815
    reasoningTokens: int = 0  # noqa: N815


class ModelMetric(Shape):
    requests: ModelRequests
    usage: ModelUsage


class Metrics(Shape):
    totalPremiumRequestCost: float  # noqa: N815
    totalUserRequests: int  # noqa: N815
    totalApiDurationMs: int  # noqa: N815
    sessionStartTime: str  # noqa: N815
    codeChanges: MetricChanges  # noqa: N815
    modelMetrics: dict[str, ModelMetric]  # noqa: N815
    lastCallInputTokens: int  # noqa: N815
    lastCallOutputTokens: int  # noqa: N815
    currentModel: str = ""  # noqa: N815


class ToolMetadata(Shape):
    name: str
    description: str
    input_schema: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class Tools(Shape):
    tools: list[ToolMetadata] | None


class Extension(Shape):
    id: str
    name: str
    source: Literal["project", "user"]
    status: Literal["running", "disabled", "failed", "starting"]
    pid: int | msgspec.UnsetType = msgspec.UNSET


class Extensions(Shape):
    extensions: list[Extension]


ANSWERS: dict[str, Any] = {
    "session.log": Logged,
    "session.send": Sent,
    "session.abort": Success,
    "session.getMessages": Messages,
    "session.metadata.snapshot": Snapshot,
    "session.detach": Success,
    "session.destroy": Any,
    "session.options.update": Success,
    "session.eventLog.registerInterest": Handle,
    "session.eventLog.releaseInterest": Success,
    "session.model.getCurrent": CurrentModel,
    "session.model.list": Models,
    "session.model.switchTo": Switched,
    "session.name.get": Name,
    "session.name.set": None,
    "session.plan.read": Plan,
    "session.plan.update": None,
    "session.plan.delete": None,
    "session.workspaces.getWorkspace": Workspace,
    "session.workspaces.listFiles": Files,
    "session.workspaces.readFile": FileContent,
    "session.workspaces.createFile": None,
    "session.usage.getMetrics": Metrics,
    "session.tools.getCurrentMetadata": Tools,
    "session.extensions.list": Extensions,
    "session.extensions.reload": None,
}
