"""Requests of an extension to its host, in neutral words. Pure.

A session wraps such a request in `base.HostCalled`. The host answers each with a value, or refuses it with a reason, in
any order and at any time; the session then writes the answer. Each host carries out `CallTool`, only a host with an
agent the others: they are about prompts, models and workspaces.
"""

from __future__ import annotations

from typing import Any

import msgspec


class ModelInfo(msgspec.Struct, frozen=True):
    id: str
    provider: str
    context_window: int
    """Tokens; 0 if unknown."""
    max_output: int
    """Tokens; 0 if unknown."""
    reasoning: bool


class ToolInfo(msgspec.Struct, frozen=True):
    name: str
    description: str
    schema: dict[str, Any]
    """JSON Schema of the arguments."""
    extension: str
    """Name of the extension; empty for a built-in tool."""


class CallTool(msgspec.Struct, frozen=True):
    """Calls a tool, under the guards that judge calls of the model. Answered with a `frames.ToolResult`, also if the
    tool has failed."""

    name: str
    args: bytes
    """JSON text."""
    parent: str | None = None
    """The id of the host's call for which the extension needs the result; None if it names none."""
    session_id: str | None = None
    """The session that it is for, from an extension that serves several."""


class SendPrompt(msgspec.Struct, frozen=True):
    """A prompt for the agent, as if a user had sent it. It runs after the waiting prompts. Answered with None once it
    is accepted, which may be before it begins."""

    text: str
    files: tuple[str, ...] = ()
    """Paths of attached files, absolute or relative to the agent's working folder. The agent reads them as its own
    tools do, under the same guards."""
    session_id: str | None = None
    """The session that it is for, from an extension that serves several."""


class AbortPrompt(msgspec.Struct, frozen=True):
    """Ends the running prompt. Answered with None."""


class CurrentModel(msgspec.Struct, frozen=True):
    """Answered with `{"model": str, "reasoning": str | None}`."""


class ListModels(msgspec.Struct, frozen=True):
    """Answered with a sequence of `ModelInfo`."""


class SwitchModel(msgspec.Struct, frozen=True):
    """Selects the model of the next request. Answered with None."""

    model: str
    reasoning: str | None = None
    """The level of reasoning from the next prompt on, a word of `wire.reasoning_levels`. None: it stays."""


class GetSessionName(msgspec.Struct, frozen=True):
    """Answered with the session's name, or None if it has none."""


class SetSessionName(msgspec.Struct, frozen=True):
    """Answered with None."""

    name: str


class GetWorkspace(msgspec.Struct, frozen=True):
    """The folder that a session has for notes and files of its extensions. Answered with `{"id": str, "path": str,
    "cwd": str, "git_root": str | None, "branch": str | None, "created_at": ISO 8601 in UTC}`."""


class ListFiles(msgspec.Struct, frozen=True):
    """Answered with the sorted paths of all files in this folder of the workspace and below, relative to this folder;
    empty if the folder is missing."""

    folder: str


class ReadFile(msgspec.Struct, frozen=True):
    """Answered with `{"path": str, "content": str | None}`: the absolute path, and None for a missing file."""

    path: str
    """Path relative to the workspace; a path that leads out of it is refused, also in the next two."""


class WriteFile(msgspec.Struct, frozen=True):
    """Writes a file of the workspace, and makes missing folders. Answered with None."""

    path: str
    content: str


class RemoveFile(msgspec.Struct, frozen=True):
    """Removes a file of the workspace. Answered with None, even if the file is missing."""

    path: str


class GetUsage(msgspec.Struct, frozen=True):
    """The use of the session so far. Answered with `{"began_at": ISO 8601 in UTC, "prompts": int, "model": str,
    "models": {model: {"requests": int, "input": int, "output": int, "cache_read": int, "cache_write": int, "cost_usd":
    float | None, "reasoning": int | None}}, "request_ms": int, "last_input": int, "last_output": int}`; tokens."""


class ListTools(msgspec.Struct, frozen=True):
    """The tools that the model is offered now. Answered with a sequence of `ToolInfo`."""


class ListExtensions(msgspec.Struct, frozen=True):
    """The extensions of the same dialect. Answered with a list of `{"name": str, "scope": "project" | "user", "state":
    str, "pid": int | None}`; the state as in the host's stats."""


class ReloadExtensions(msgspec.Struct, frozen=True):
    """Finds and loads all extensions of the same dialect again. Answered with None at the start."""


HostCall = (
    CallTool
    | SendPrompt
    | AbortPrompt
    | CurrentModel
    | ListModels
    | SwitchModel
    | GetSessionName
    | SetSessionName
    | GetWorkspace
    | ListFiles
    | ReadFile
    | WriteFile
    | RemoveFile
    | GetUsage
    | ListTools
    | ListExtensions
    | ReloadExtensions
)

STEERING = (SendPrompt, AbortPrompt, SwitchModel, SetSessionName, ReloadExtensions)
"""Requests that change the agent's next steps."""
