"""Requests to an engine: their members, and the readers of their answers. Shared by `Runtime` and `AsyncRuntime`."""

from __future__ import annotations

import os

from ..answers import (
    CommandInfo,
    CommandOutcome,
    ExtensionStats,
    Forked,
    ModelInfo,
    Reloaded,
    Resumed,
    SessionInfo,
    SkillInfo,
    State,
    ToolInfo,
    ToolOutcome,
)
from .images import all_data
from .pending_answer import ANSWER_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal, TypeVar

    from .images import Image

    T = TypeVar("T")
    Data = dict[str, Any]
    Message = dict[str, Any]
    """A message of a conversation, as plain JSON."""
    Request = tuple[str, Data, float | None, Callable[[Data], T]]
    """The type, the members, the seconds to wait for the answer, and the reader of its data."""
    ExportFormat = Literal["markdown", "html", "json", "zotsession"]
    Path = str | os.PathLike[str]

AFTER_CANCELLED = frozenset({"clear", "get_messages", "set_messages", "resume", "fork", "export"})
"""Requests about the whole conversation, which wait for the end of cancelled prompts."""
ABORTABLE = frozenset({"call_tool", "run_command"})
"""Requests that an `abort` without a prompt ends."""


def _request(kind: str, read: Callable[[Data], T], **members: Any) -> Request[T]:
    return kind, members, ANSWER_S, read


def _nothing(_data: Data) -> None:
    return None


def steer(text: str, images: Sequence[Image]) -> Request[None]:
    return _request("steer", _nothing, message=text, images=all_data(images))


def clear() -> Request[None]:
    return _request("clear", _nothing)


def messages() -> Request[list[Message]]:
    return _request("get_messages", lambda data: list(data["messages"]), full=True)


def set_messages(given: Sequence[Message]) -> Request[None]:
    return _request("set_messages", _nothing, messages=list(given))


def set_model(model: str) -> Request[None]:
    return _request("set_model", _nothing, model=model)


def set_reasoning(level: str) -> Request[str]:
    return _request("set_reasoning", lambda data: str(data["used"]), reasoning=level)


def list_models() -> Request[list[ModelInfo]]:
    return _request("get_models", lambda data: [ModelInfo.read(found) for found in data["models"]])


def state() -> Request[State]:
    return _request("get_state", State.read)


def sessions(*, of_all: bool) -> Request[list[SessionInfo]]:
    return _request("list_sessions", lambda data: [SessionInfo.read(found) for found in data["sessions"]], all=of_all)


def resume(session: Path) -> Request[Resumed]:
    is_path = not isinstance(session, str) or os.sep in session
    return _request("resume", Resumed.read, session=absolute(session) if is_path else session)


def fork(at: int | None) -> Request[Forked]:
    return _request("fork", Forked.read, at=at)


def export(form: ExportFormat, path: Path | None) -> Request[str]:
    target = None if path is None else absolute(path)
    return _request(
        "export", lambda data: str(data["text"] if path is None else data["path"]), format=form, path=target
    )


def import_session(path: Path) -> Request[str]:
    return _request("import", lambda data: str(data["session"]), path=absolute(path))


def absolute(path: Path) -> str:
    """Returns the absolute path: the engine may have another working folder than this process."""
    return os.path.abspath(os.fsdecode(os.fspath(path)))


def command(line: str) -> Request[CommandOutcome]:
    """The wait has no limit here: the answer comes when the command has ended."""
    name, args = command_words(line)
    return "run_command", {"name": name, "args": args}, None, CommandOutcome.read


def command_words(line: str) -> tuple[str, str]:
    """Returns the name without the slash, and the arguments, of a line such as `/todo add milk`."""
    words = line.strip().removeprefix("/").split(maxsplit=1)
    return (words[0] if words else "", words[1].strip() if len(words) > 1 else "")


def call_tool(name: str, args: Mapping[str, Any]) -> Request[ToolOutcome]:
    """The wait has no limit here: the answer comes when the call has ended."""
    return "call_tool", {"name": name, "args": args}, None, ToolOutcome.read


def reload(name: str | None) -> Request[Reloaded]:
    """The wait has no limit here: the answer comes when the reload has ended."""
    return "reload_ext", {"name": name}, None, Reloaded.read


def panel_key(extension: str, panel_id: str, key: str, text: str | None) -> Request[None]:
    return _request("panel_key", _nothing, extension=extension, panel_id=panel_id, key=key, text=text)


def panel_resize(extension: str, panel_id: str, width: int, height: int) -> Request[None]:
    return _request("panel_resize", _nothing, extension=extension, panel_id=panel_id, width=width, height=height)


def panel_close(extension: str, panel_id: str) -> Request[None]:
    return _request("panel_close", _nothing, extension=extension, panel_id=panel_id)


def commands() -> Request[list[CommandInfo]]:
    return _request("list_commands", lambda data: [CommandInfo.read(found) for found in data["commands"]])


def tools() -> Request[list[ToolInfo]]:
    return _request("list_tools", lambda data: [ToolInfo.read(found) for found in data["tools"]])


def skills() -> Request[list[SkillInfo]]:
    return _request("list_skills", lambda data: [SkillInfo.read(found) for found in data["skills"]])


def stats() -> Request[dict[str, ExtensionStats]]:
    return _request(
        "ext_stats",
        lambda data: {name: ExtensionStats.read(figures) for name, figures in data["extensions"].items()},
    )
