"""Requests to a host: their members, and the readers of their answers. Shared by `Host` and `AsyncHost`."""

from __future__ import annotations

from ..answers import CommandInfo, ToolInfo
from ..errors import HostRefusedError
from ..host_answers import CommandAnswer, ExtensionStatus, ReloadOutcome, Stats, ToolAnswer, Verdict
from .host_client import ANSWER_S
from .requests import command_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .requests import Data, Request


def tools() -> Request[list[ToolInfo]]:
    return "registered", {}, ANSWER_S, lambda data: [ToolInfo.read(found) for found in data["tools"]]


def commands() -> Request[list[CommandInfo]]:
    return "registered", {}, ANSWER_S, lambda data: [CommandInfo.read(found) for found in data["commands"]]


def call(tool: str, args: Mapping[str, Any] | None) -> Request[ToolAnswer]:
    """The wait has no limit here: the extension's own deadline ends it."""
    return "tool_call", {"name": tool, "args": {} if args is None else dict(args)}, None, ToolAnswer.read


def command(line: str) -> Request[CommandAnswer]:
    name, args = command_words(line)
    return "command_invoked", {"name": name, "args": args}, None, _command_answer


def _command_answer(data: Data) -> CommandAnswer:
    found = CommandAnswer.read(data)
    if found.error:
        raise HostRefusedError(found.error)
    return found


def judge(members: Mapping[str, Any]) -> Request[Verdict]:
    return "event_intercept", dict(members), None, Verdict.read


def stats() -> Request[Stats]:
    return "get_stats", {}, ANSWER_S, lambda data: Stats.read(data["stats"])


def status(name: str) -> Request[ExtensionStatus]:
    return "get_status", {"name": name}, ANSWER_S, lambda data: ExtensionStatus.read(data["status"])


def reload(name: str | None) -> Request[list[ReloadOutcome]]:
    """The wait has no limit here: a reload takes as long as the start of an extension."""
    return "reload", {"name": name}, None, lambda data: [ReloadOutcome.read(found) for found in data["outcomes"]]


def restart(name: str) -> Request[None]:
    return "restart", {"name": name}, ANSWER_S, lambda _data: None


def stop() -> Request[None]:
    return "stop", {}, ANSWER_S, lambda _data: None
