"""Turns the commands that are typed in `zot ext drive` into frames. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from wire import frames
from wire.suggestions import command_key, no_such
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

USAGES = {
    "tool NAME {json}": "call a tool",
    "/NAME args": "run a slash command",
    "event NAME {json}": 'tell of an event: event turn_end {"stop": "end"}',
    "ask NAME {json}": 'ask for a verdict: ask tool_call {"tool_name": "bash", "tool_args": {"command": "ls"}}',
    "answer TEXT": "answer the tool that it has called, the oldest call first",
    "key PANEL KEY [TEXT]": "press a key in a panel",
    "resize PANEL W H": "tell of a panel's size",
    "ping": "see whether it still serves",
    "frame {json}": "send this frame as it stands; the word frame may be left out",
    "help": "list all this",
    "quit": "end it",
}
HELP = "\n".join(f"{usage:22} {does}" for usage, does in USAGES.items())
WORDS = {usage.partition(" ")[0]: does for usage, does in USAGES.items() if not usage.startswith("/")}
DESCRIPTION = 200
"""Maximum of characters of a description."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class CommandError(ValueError):
    """The typed line cannot be sent; the text says why."""


@dataclass
class RegisteredNames:
    """The names that the extension has registered so far."""

    tools: set[str] = field(default_factory=set)
    commands: dict[str, str] = field(default_factory=dict)
    """By key."""
    calls: dict[str, str] = field(default_factory=dict)
    """The tools that it has called and waits for, by the id of the call."""
    completions: dict[str, str] = field(default_factory=WORDS.copy)
    """Beginnings of lines, and what they do."""

    def take_in(self, frame: dict[str, Any]) -> None:
        kind, name = frame.get("type"), frame.get("name")
        if kind == "register_tool" and isinstance(name, str):
            self.tools.add(name)
            self.completions[f"tool {name}"] = _description(frame)
        elif kind == "unregister_tool" and isinstance(name, str):
            self.tools.discard(name)
            self.completions.pop(f"tool {name}", None)
        elif kind == "register_command" and isinstance(name, str):
            self.commands.setdefault(command_key(name), name)
            self.completions.setdefault(f"/{name}", _description(frame))
        elif kind == "call_tool":
            self.calls[str(frame.get("id"))] = str(name)
        elif kind == "call_tool_cancel":
            self.calls.pop(str(frame.get("id")), None)

    def answered(self, frame: dict[str, Any]) -> None:
        """Called with each frame of the host."""
        if frame.get("type") == "tool_result":
            self.calls.pop(str(frame.get("id")), None)


def _description(frame: dict[str, Any]) -> str:
    return one_line(str(frame.get("description") or ""), DESCRIPTION)


def commands_in(text: str) -> list[str]:
    """The commands in a text: one in a line, but a JSON object may have several lines."""
    found: list[str] = []
    is_open = False
    for line in text.split("\n"):
        found[-1:] = [f"{found[-1]}\n{line}"] if is_open else [*found[-1:], line]
        bare = _STRING.sub("", found[-1])
        is_open = bare.count("{") > bare.count("}")
    return found


def frame_for(line: str, known: RegisteredNames, call_id: str) -> dict[str, Any]:
    """The frame for a line. A frame that asks for an answer has the id `call_id`. Raises `CommandError`."""
    line = line.strip()
    if line.startswith("{"):
        return _raw(line)
    word, _, rest = line.partition(" ")
    rest = rest.strip()
    if line.startswith("/"):
        name = known.commands.get(command_key(word[1:]), word[1:])
        _check("command", name, known.commands.values())
        return {"type": "command_invoked", "id": call_id, "name": name, **({"args": rest} if rest else {})}
    match word:
        case "tool":
            name, arguments = _name_and_object(rest, "tool NAME {json}")
            _check("tool", name, known.tools)
            return {"type": "tool_call", "id": call_id, "name": name, "args": arguments}
        case "event":
            name, members = _name_and_object(rest, "event NAME {json}")
            return _check_frame({"type": "event", "event": name, **members})
        case "ask":
            name, members = _name_and_object(rest, "ask NAME {json}")
            return _check_frame({"type": "event_intercept", "id": call_id, "event": name, **members})
        case "answer":
            return _answer(rest, known.calls)
        case "ping":
            return {"type": "ping", "id": call_id}
    if (reader := _READERS.get(word)) is not None:
        return reader(rest)
    raise CommandError(f"{no_such('command', word, WORDS)}; help lists them")


def _raw(text: str) -> dict[str, Any]:
    frame = _object(text)
    if not isinstance(frame.get("type"), str):
        raise CommandError('a frame needs a "type"')
    return frame


def _answer(text: str, calls: dict[str, str]) -> dict[str, Any]:
    if not calls:
        raise CommandError("answer TEXT: it has called no tool, or has its answer")
    call_id, name = next(iter(calls.items()))
    return {"type": "tool_result", "id": call_id, "name": name, "content": [{"type": "text", "text": text}]}


def _key(rest: str) -> dict[str, Any]:
    words = rest.split(maxsplit=2)
    if len(words) < 2:
        raise CommandError("key PANEL KEY [TEXT]: key list down; for a letter: key list rune x")
    frame: dict[str, Any] = {"type": "panel_key", "panel_id": words[0], "key": words[1]}
    if len(words) == 3:
        frame["text"] = words[2]
    elif len(words[1]) == 1:  # a single letter
        frame |= {"key": "rune", "text": words[1]}
    return frame


def _resize(rest: str) -> dict[str, Any]:
    words = rest.split()
    if len(words) != 3 or not words[1].isdecimal() or not words[2].isdecimal():
        raise CommandError("resize PANEL WIDTH HEIGHT: resize list 80 24")
    return {"type": "panel_resize", "panel_id": words[0], "width": int(words[1]), "height": int(words[2])}


_READERS: dict[str, Callable[[str], dict[str, Any]]] = {"frame": _raw, "key": _key, "resize": _resize}


def _name_and_object(rest: str, usage: str) -> tuple[str, dict[str, Any]]:
    name, _, text = rest.partition(" ")
    if not name or name.startswith("{"):
        raise CommandError(usage)
    return name, _object(text) if text.strip() else {}


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise CommandError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CommandError("must be a JSON object: {…}")
    return value


def _check(what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise CommandError(f"{no_such(what, name, known)}; frame {{json}} sends anything")


def _check_frame(frame: dict[str, Any]) -> dict[str, Any]:
    """The frame, after a check of its fields. Raises `CommandError`."""
    judged = frames.decode_from_host(json.dumps(frame).encode())
    if isinstance(judged, frames.Malformed):
        raise CommandError(judged.reason)
    return frame
