"""The methods of the extension that the host's agent answers: the neutral call of each, and the answer in the SDK's
shape. Pure.

The shapes are those that both the oldest and the newest SDK of version 1 declare. Premium requests and changed lines
are not counted here, so they are 0. Copilot includes cached tokens in the input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from wire.dialects import host_calls
from wire.dialects.copilot.rpc.params import Send, WrongParamsError, prompt_of, reader, without_effect, without_none
from wire.dialects.copilot.tool_names import copilot_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from msgspec import Raw, UnsetType

PLAN = "plan.md"
FILES = "files"
"""In the workspace: the plan, and the folder for the methods about files."""
STATUSES = {
    "asleep": "running",
    "waking": "starting",
    "spawned": "starting",
    "greeted": "starting",
    "backoff": "starting",
    "ready": "running",
    "failed": "failed",
}
"""The SDK's status for each state of an extension. Any other state is `disabled`."""


class NotThereError(Exception):
    """The requested object does not exist; the text names it."""


class Method(NamedTuple):
    read: Callable[[Raw | UnsetType], Any]
    """Decodes the parameters. Raises `WrongParamsError`."""
    call: Callable[[Any], host_calls.HostCall]
    """Returns the call for the parameters. Raises `WrongParamsError`."""
    result: Callable[[Any, Any], Any]
    """Returns the result for the host's value and the parameters. Raises `NotThereError`."""
    ignored: Callable[[Any], Sequence[str]] = lambda _params: ()
    """Returns the names of parameters without an effect."""
    without_workspace: Any = msgspec.UNSET
    """The result if the host has no workspace. UNSET: a method that needs a workspace is then refused."""


class _Nothing(msgspec.Struct, frozen=True):
    pass


class _SwitchTo(msgspec.Struct, frozen=True):
    modelId: str  # noqa: N815
    reasoningEffort: str | None = None  # noqa: N815
    reasoningSummary: Any = None  # noqa: N815
    contextTier: Any = None  # noqa: N815
    modelCapabilities: Any = None  # noqa: N815


class _Name(msgspec.Struct, frozen=True):
    name: str


class _Content(msgspec.Struct, frozen=True):
    content: str


class _Path(msgspec.Struct, frozen=True):
    path: str


class _File(msgspec.Struct, frozen=True):
    path: str
    content: str


EFFORTS = {"none": "off", "minimal": "minimum"}
"""Levels of reasoning by the words that Copilot has for them, where these are others."""

# --- calls --------------------------------------------------------------------------------------------------


def _in_files(path: str) -> str:
    """Returns the path of the extension's file within the workspace. The host checks links."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if path.startswith("/") or ".." in parts or "\0" in path or not parts:
        raise WrongParamsError(f"path: {path[:80]!r} must lead to a file in the workspace's folder {FILES}")
    return "/".join((FILES, *parts))


def _switch(params: _SwitchTo) -> host_calls.SwitchModel:
    if not params.modelId.strip():
        raise WrongParamsError("modelId: it is empty")
    effort = params.reasoningEffort
    return host_calls.SwitchModel(params.modelId, EFFORTS.get(effort, effort) if effort else None)


def _set_name(params: _Name) -> host_calls.SetSessionName:
    if not params.name.strip():
        raise WrongParamsError("name: it is empty")
    return host_calls.SetSessionName(params.name)


# --- results ------------------------------------------------------------------------------------------------


def _nothing(_value: Any, _params: Any) -> None:
    return None


def _current_model(value: Any, _params: _Nothing) -> Any:
    return without_none({"modelId": value["model"] or None, "reasoningEffort": value["reasoning"]})


def _models(value: Any, _params: _Nothing) -> Any:
    return {"list": [_model(model) for model in value]}


def _model(model: host_calls.ModelInfo) -> Any:
    limits = {"max_context_window_tokens": model.context_window, "max_output_tokens": model.max_output}
    return {
        "id": model.id,
        "name": model.id,
        "capabilities": {
            "supports": {"reasoningEffort": model.reasoning},
            "limits": {name: size for name, size in limits.items() if size},
        },
    }


def _plan(value: Any, _params: _Nothing) -> Any:
    return {"exists": value["content"] is not None, "content": value["content"], "path": value["path"]}


def _workspace(value: Any, _params: _Nothing) -> Any:
    members = ("id", "cwd", "git_root", "branch", "created_at")
    return {"workspace": without_none({name: value[name] for name in members}), "path": value["path"]}


def _content(value: Any, params: _Path) -> Any:
    if value["content"] is None:
        raise NotThereError(f"there is no file {params.path[:200]!r} in the workspace's folder {FILES}")
    return {"content": value["content"]}


def _usage(value: Any, _params: _Nothing) -> Any:
    metrics = {
        "totalPremiumRequestCost": 0,
        "totalUserRequests": value["prompts"],
        "totalApiDurationMs": value["request_ms"],
        "sessionStartTime": value["began_at"],
        "codeChanges": {"linesAdded": 0, "linesRemoved": 0, "filesModifiedCount": 0, "filesModified": []},
        "modelMetrics": {
            name: {
                "requests": {"count": model["requests"], "cost": 0},
                "usage": without_none(
                    {
                        "inputTokens": model["input"] + model["cache_read"] + model["cache_write"],
                        "outputTokens": model["output"],
                        "cacheReadTokens": model["cache_read"],
                        "cacheWriteTokens": model["cache_write"],
                        "reasoningTokens": model["reasoning"],
                    }
                ),
            }
            for name, model in value["models"].items()
        },
        "lastCallInputTokens": value["last_input"],
        "lastCallOutputTokens": value["last_output"],
    }
    return metrics | ({"currentModel": value["model"]} if value["model"] else {})


def _tools(value: Any, _params: _Nothing) -> Any:
    return {"tools": [_tool(tool) for tool in value]}


def _tool(tool: host_calls.ToolInfo) -> Any:
    """Built-in tools have Copilot's names. A schema is left out if its name differs here: its arguments are never
    shown."""
    name = tool.name if tool.extension else copilot_name(tool.name)
    described = {"name": name, "description": tool.description}
    return described | ({"input_schema": tool.schema} if name == tool.name else {})


def _extensions(value: Any, _params: _Nothing) -> Any:
    return {
        "extensions": [
            without_none(
                {
                    "id": f"{extension['scope']}:{extension['name']}",
                    "name": extension["name"],
                    "source": extension["scope"],
                    "status": STATUSES.get(extension["state"], "disabled"),
                    "pid": extension["pid"],
                }
            )
            for extension in value
        ]
    }


# --- table --------------------------------------------------------------------------------------------------

_none = reader(_Nothing)
METHODS: Mapping[str, Method] = {
    "session.model.getCurrent": Method(_none, lambda _: host_calls.CurrentModel(), _current_model),
    "session.model.list": Method(_none, lambda _: host_calls.ListModels(), _models),
    "session.model.switchTo": Method(
        reader(_SwitchTo),
        _switch,
        lambda _, params: {"modelId": params.modelId},
        lambda params: [name for name in _SwitchTo.__struct_fields__[2:] if getattr(params, name) is not None],
    ),
    "session.name.get": Method(_none, lambda _: host_calls.GetSessionName(), lambda value, _: {"name": value}),
    "session.name.set": Method(reader(_Name), _set_name, _nothing),
    "session.plan.read": Method(
        _none,
        lambda _: host_calls.ReadFile(PLAN),
        _plan,
        without_workspace={"exists": False, "content": None, "path": None},
    ),
    "session.plan.update": Method(
        reader(_Content), lambda params: host_calls.WriteFile(PLAN, params.content), _nothing
    ),
    "session.plan.delete": Method(_none, lambda _: host_calls.RemoveFile(PLAN), _nothing),
    "session.workspaces.getWorkspace": Method(
        _none, lambda _: host_calls.GetWorkspace(), _workspace, without_workspace={"workspace": None}
    ),
    "session.workspaces.listFiles": Method(
        _none, lambda _: host_calls.ListFiles(FILES), lambda value, _: {"files": value}, without_workspace={"files": []}
    ),
    "session.workspaces.readFile": Method(
        reader(_Path), lambda params: host_calls.ReadFile(_in_files(params.path)), _content
    ),
    "session.workspaces.createFile": Method(
        reader(_File), lambda params: host_calls.WriteFile(_in_files(params.path), params.content), _nothing
    ),
    "session.usage.getMetrics": Method(_none, lambda _: host_calls.GetUsage(), _usage),
    "session.tools.getCurrentMetadata": Method(_none, lambda _: host_calls.ListTools(), _tools),
    "session.extensions.list": Method(_none, lambda _: host_calls.ListExtensions(), _extensions),
    "session.extensions.reload": Method(_none, lambda _: host_calls.ReloadExtensions(), _nothing),
    "session.abort": Method(_none, lambda _: host_calls.AbortPrompt(), lambda _value, _params: {"success": True}),
    "session.send": Method(reader(Send), prompt_of, _nothing, without_effect),
}
"""The answer to `session.send` is the id that its message got on arrival."""
ABOUT_WORKSPACE = (
    host_calls.GetWorkspace,
    host_calls.ListFiles,
    host_calls.ReadFile,
    host_calls.WriteFile,
    host_calls.RemoveFile,
)
