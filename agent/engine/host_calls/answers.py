"""Answers the calls of extensions to the agent. Each call of `wire.dialects.host_calls` is answered at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent.engine.host_calls.known_models import known_models
from agent.engine.host_calls.sent_prompts import SendRefusedError, SentPrompt, check_sent_prompt
from agent.engine.host_calls.workspace import SessionWorkspaceError
from supervisor.discovery.found_extension import Scope
from supervisor.home.repository import repository_root
from supervisor.home.safe_files import read_start
from wire.dialects import host_calls as calls
from wire.reasoning_levels import LEVELS
from wire.suggestions import not_one_of
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.engine.host_calls.workspace import SessionWorkspace
    from agent.engine.session import EngineSession
    from agent.run.conversation import Conversation
    from agent.run.limits import Spending
    from supervisor.extension.connection.open_calls import HostCallAnswer
    from supervisor.extension.extension import Extension
    from supervisor.extension.notices import NoticeKind
    from supervisor.supervisor import Supervisor
    from wire.reasoning_levels import Reasoning

NAME_LENGTH = 200
"""Maximum of a session's name in characters."""
ABOUT_PROMPTS = (calls.SendPrompt, calls.AbortPrompt)
LEFT = "another session has taken the place of the one that this process belongs to"
NO_RELOAD = "this run reloads no extensions for an extension: start it with --copilot, or use zot ext reload"


class CallRefusedError(Exception):
    """A call is not carried out; the text says why."""


class Agent(Protocol):
    """The part of the engine that the calls use."""

    supervisor: Supervisor
    session: EngineSession
    conversation: Conversation
    spending: Spending
    workspace: SessionWorkspace
    cwd: str
    prompts: int
    """The number of prompts that have begun."""

    @property
    def model(self) -> str: ...
    @property
    def reasoning(self) -> Reasoning | None: ...
    @property
    def used_reasoning(self) -> Reasoning | None: ...
    def tools(self) -> Sequence[calls.ToolInfo]: ...
    def set_reasoning(self, level: Reasoning) -> None: ...
    def set_model(self, model: str) -> None:
        """Raises `ValueError`."""

    def abort_prompt(self, reason: str) -> None:
        """Ends the running prompt. Does nothing if none runs."""


class HostCalls:
    """Carries calls out. `on_notice` gets messages for the user about them."""

    def __init__(self, agent: Agent, *, on_notice: Callable[[Extension, NoticeKind, str], None]) -> None:
        self.on_prompt: Callable[[SentPrompt], None] = _no_prompts
        """Takes a prompt to run it in its turn. Raises `SendRefusedError`."""
        self.on_reload: Callable[[str], str] = lambda _dialect: NO_RELOAD
        """Begins to find and load the extensions of this dialect again. Returns why not; "" if it has begun."""
        self.is_of_left_session: Callable[[Extension, float], bool] = lambda _extension, _since: False
        """Whether the extension's worker, started at the given time, belongs to an earlier session."""
        self._agent = agent
        self._on_notice = on_notice
        self._told: set[tuple[str, str]] = set()
        """The refusals of prompts that the user was told about: extension and reason."""
        self._handlers: dict[type, Callable[[Extension, Any], Any]] = {
            calls.SendPrompt: self._send,
            calls.AbortPrompt: self._abort,
            calls.CurrentModel: self._current_model,
            calls.ListModels: lambda _extension, _call: known_models(),
            calls.SwitchModel: self._switch_model,
            calls.GetSessionName: lambda _extension, _call: agent.conversation.name or None,
            calls.SetSessionName: self._rename,
            calls.GetWorkspace: self._place,
            calls.ListFiles: lambda _extension, call: agent.workspace.files(call.folder),
            calls.ReadFile: self._read,
            calls.WriteFile: lambda _extension, call: agent.workspace.write(call.path, call.content),
            calls.RemoveFile: lambda _extension, call: agent.workspace.remove(call.path),
            calls.GetUsage: self._usage,
            calls.ListTools: lambda _extension, _call: agent.tools(),
            calls.ListExtensions: self._extensions,
            calls.ReloadExtensions: self._reload,
        }

    def take(self, extension: Extension, call: calls.HostCall, answer: HostCallAnswer) -> None:
        """Answers one call of an extension."""
        try:
            if isinstance(call, ABOUT_PROMPTS) and self.is_of_left_session(extension, answer.since):
                raise CallRefusedError(LEFT)
            value = self._handlers[type(call)](extension, call)
        except SendRefusedError as error:
            self._tell_refusal(extension, str(error))
            answer.refuse(str(error), is_told=True)
        except (CallRefusedError, SessionWorkspaceError) as error:
            answer.refuse(str(error))
        else:
            answer.give(value)

    def forget_refusals(self) -> None:
        """Lets the user be told of refused prompts again."""
        self._told.clear()

    # --- prompts --------------------------------------------------------------------------------------------

    def _send(self, extension: Extension, call: calls.SendPrompt) -> None:
        prompt = SentPrompt(call.text, call.files, extension.name)
        try:
            check_sent_prompt(prompt)
        except SendRefusedError as error:
            raise CallRefusedError(str(error)) from None
        self.on_prompt(prompt)

    def _tell_refusal(self, extension: Extension, why: str) -> None:
        """Tells the user, once."""
        if (extension.name, why) not in self._told:
            self._told.add((extension.name, why))
            self._on_notice(extension, "warning", f"a prompt that it sends is refused: {why}")

    def _abort(self, extension: Extension, _call: calls.AbortPrompt) -> None:
        self._agent.abort_prompt(f"extension {extension.name} has aborted it")

    # --- the model ------------------------------------------------------------------------------------------

    def _current_model(self, _extension: Extension, _call: calls.CurrentModel) -> dict[str, Any]:
        used = self._agent.used_reasoning
        return {"model": self._agent.model, "reasoning": None if used == "off" else used}

    def _switch_model(self, extension: Extension, call: calls.SwitchModel) -> None:
        model = call.model.strip()
        if not model:
            raise CallRefusedError("the name of the model is empty")
        level = next((each for each in LEVELS if each == call.reasoning), None)
        if call.reasoning is not None and level is None:
            raise CallRefusedError(f"reasoning: {not_one_of(call.reasoning[:NAME_LENGTH], LEVELS)}")
        if model != (before := self._agent.model):
            try:
                self._agent.set_model(model)
            except ValueError as error:
                raise CallRefusedError(str(error)) from None
            self._on_notice(extension, "warning", f"it has switched the model from {before} to {one_line(model, 200)}")
        if level is not None and level != self._agent.reasoning:
            self._agent.set_reasoning(level)
            self._on_notice(extension, "warning", f"it has set the model's reasoning to {level}")

    # --- the session ----------------------------------------------------------------------------------------

    def _rename(self, _extension: Extension, call: calls.SetSessionName) -> None:
        name = one_line(call.name.strip(), NAME_LENGTH)
        if not name:
            raise CallRefusedError("the name is empty")
        self._agent.conversation.rename(name)

    def _place(self, _extension: Extension, _call: calls.GetWorkspace) -> dict[str, Any]:
        workspace, cwd = self._agent.workspace, self._agent.cwd
        workspace.make()
        root, branch = git_place(cwd)
        return {
            "id": workspace.session,
            "path": str(workspace.path),
            "cwd": cwd,
            "git_root": root,
            "branch": branch,
            "created_at": workspace.created_at,
        }

    def _read(self, _extension: Extension, call: calls.ReadFile) -> dict[str, Any]:
        path, content = self._agent.workspace.read(call.path)
        return {"path": path, "content": content}

    def _usage(self, _extension: Extension, _call: calls.GetUsage) -> dict[str, Any]:
        agent, spending = self._agent, self._agent.spending
        last = spending.last
        return {
            "began_at": agent.session.began_at,
            "prompts": agent.prompts,
            "model": agent.model,
            "models": {
                model: {
                    "requests": use.requests,
                    "input": use.used.input,
                    "output": use.used.output,
                    "cache_read": use.used.cache_read,
                    "cache_write": use.used.cache_write,
                    "cost_usd": use.used.cost_usd,
                    "reasoning": use.used.reasoning,
                }
                for model, use in spending.models.items()
            },
            "request_ms": round(spending.seconds * 1000),
            "last_input": last.input + last.cache_read + last.cache_write,
            "last_output": last.output,
        }

    # --- tools and extensions -------------------------------------------------------------------------------

    def _extensions(self, extension: Extension, _call: calls.ListExtensions) -> list[dict[str, Any]]:
        dialect = extension.manifest.dialect
        return [
            {
                "name": each.name,
                "scope": "user" if each.found.scope is Scope.GLOBAL else "project",
                "state": each.state.value,
                "pid": each.lead.pid or None,
            }
            for each in self._agent.supervisor.extensions
            if each.manifest.dialect == dialect
        ]

    def _reload(self, extension: Extension, _call: calls.ReloadExtensions) -> None:
        if why_not := self.on_reload(extension.manifest.dialect):
            raise CallRefusedError(why_not)


def _no_prompts(_prompt: SentPrompt) -> None:
    raise SendRefusedError("no prompts are accepted now")


HEAD_BYTES = 4096
POINTER = "gitdir: "
BRANCH = "ref: refs/heads/"


def git_place(folder: str) -> tuple[str | None, str | None]:
    """The root of the folder's repository, and the branch. Each is None if missing; the branch also for a detached
    HEAD."""
    root = repository_root(Path(folder))
    if root is None:
        return None, None
    try:
        return str(root), _branch(root)
    except (OSError, ValueError):
        return str(root), None


def _branch(root: Path) -> str | None:
    git = root / ".git"
    if git.is_file():
        pointer = _start(git)
        if not pointer.startswith(POINTER):
            return None
        git = root / pointer.removeprefix(POINTER)
    head = _start(git / "HEAD")
    return head.removeprefix(BRANCH) if head.startswith(BRANCH) else None


def _start(file: Path) -> str:
    return read_start(file, HEAD_BYTES).decode("utf-8", "replace").partition("\n")[0].rstrip("\r")
