"""What an extension may want from its host of its own accord, in no protocol's words. Pure.

A session makes `base.HostCalled` of such a wish. The host answers each with a value, or refuses it with a reason, in
any order and at any time; the session then writes the answer. Only a host with an agent can do what is about prompts,
models and workspaces.
"""

from __future__ import annotations

from typing import Any

import msgspec


class ModelInfo(msgspec.Struct, frozen=True):
    id: str
    provider: str
    context_window: int
    """Tokens; 0 is unknown."""
    max_output: int
    """Tokens; 0 is unknown."""
    reasoning: bool


class ToolInfo(msgspec.Struct, frozen=True):
    name: str
    description: str
    schema: dict[str, Any]
    """JSON Schema of the arguments."""
    extension: str
    """Empty for a built-in tool."""


class SendPrompt(msgspec.Struct, frozen=True):
    """A prompt for the agent, as if a user had sent it. It is carried out behind those that wait. Answered with None
    once it is taken; it may not have begun then."""

    text: str
    files: tuple[str, ...] = ()
    """Paths that go with it, absolute or relative to the agent's working folder. The agent reads them as its own tools
    would, and guards judge that."""


class AbortPrompt(msgspec.Struct, frozen=True):
    """The prompt that runs is to end. Answered with None."""


class CurrentModel(msgspec.Struct, frozen=True):
    """Answered with `{"model": str, "reasoning": str | None}`."""


class ListModels(msgspec.Struct, frozen=True):
    """Answered with a sequence of `ModelInfo`."""


class SwitchModel(msgspec.Struct, frozen=True):
    """The next request goes to this model. Answered with None."""

    model: str


class GetSessionName(msgspec.Struct, frozen=True):
    """Answered with the session's name, or None if it has none."""


class SetSessionName(msgspec.Struct, frozen=True):
    """Answered with None."""

    name: str


class GetWorkspace(msgspec.Struct, frozen=True):
    """The folder that a session has for notes and files of its extensions. Answered with `{"id": str, "path": str,
    "cwd": str, "git_root": str | None, "branch": str | None, "created_at": ISO 8601 in UTC}`."""


class ListFiles(msgspec.Struct, frozen=True):
    """Answered with the paths of all files in this folder of the workspace and below, relative to this folder, sorted;
    none if it is not there."""

    folder: str


class ReadFile(msgspec.Struct, frozen=True):
    """Answered with `{"path": str, "content": str | None}`: the absolute path, and None if there is no such file."""

    path: str
    """Relative to the workspace; a path that leads out of it is refused, like in the next two."""


class WriteFile(msgspec.Struct, frozen=True):
    """Makes or replaces a file of the workspace, and the folders on the way. Answered with None."""

    path: str
    content: str


class RemoveFile(msgspec.Struct, frozen=True):
    """Answered with None, also if there was no such file."""

    path: str


class GetUsage(msgspec.Struct, frozen=True):
    """What the session has used so far. Answered with `{"began_at": ISO 8601 in UTC, "prompts": int, "model": str,
    "models": {model: {"requests": int, "input": int, "output": int, "cache_read": int, "cache_write": int, "cost_usd":
    float | None}}, "request_ms": int, "last_input": int, "last_output": int}`; tokens."""


class ListTools(msgspec.Struct, frozen=True):
    """The tools that the model is offered now. Answered with a sequence of `ToolInfo`."""


class ListExtensions(msgspec.Struct, frozen=True):
    """The extensions of the same dialect. Answered with a list of `{"name": str, "scope": "project" | "user", "state":
    str, "pid": int | None}`; the state as in the host's stats."""


class ReloadExtensions(msgspec.Struct, frozen=True):
    """The extensions of the same dialect are found again and loaded again, the one that asks for it among them.
    Answered with None as it begins."""


HostCall = (
    SendPrompt
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
"""What decides on what the agent does next."""
