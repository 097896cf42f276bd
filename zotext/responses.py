"""Answers of slash commands. A str is short for `Display`, None for `Noop`."""

from __future__ import annotations

from .values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Response(Value):
    """Base of all answers of a command."""

    __slots__: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        raise NotImplementedError


class _TextResponse(Response):
    __slots__ = ("text",)
    action = ""

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"{type(self).__name__}() takes a str, not {type(text).__name__}")
        self.text = text

    def as_json(self) -> dict[str, Any]:
        return {"action": self.action, self.action: self.text}


class Prompt(_TextResponse):
    """Sends this text to the model, as if the user had typed it."""

    __slots__ = ()
    action = "prompt"


class Insert(_TextResponse):
    """Puts this text into the user's input line, to be edited and sent."""

    __slots__ = ()
    action = "insert"


class Display(_TextResponse):
    """Shows this text to the user. The model does not see it."""

    __slots__ = ()
    action = "display"


class Error(_TextResponse):
    """The command failed; the user sees this text."""

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        return {"error": self.text or "failed"}


class Noop(Response):
    """The command is done, and shows nothing."""

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        return {"action": "noop"}


class OpenPanel(Response):
    """Opens a panel with these lines. Keys in it go to the handlers of the same `panel_id`."""

    __slots__ = ("footer", "lines", "panel_id", "title")

    def __init__(self, panel_id: str, lines: Iterable[str] = (), *, title: str = "", footer: str = "") -> None:
        for value in (panel_id, title, footer):
            if not isinstance(value, str):
                raise TypeError(f"id, title and footer of a panel are str, not {type(value).__name__}")
        self.panel_id = panel_id
        self.lines = panel_lines(lines)
        self.title = title
        self.footer = footer

    def as_json(self) -> dict[str, Any]:
        panel = {"id": self.panel_id, "title": self.title, "lines": self.lines, "footer": self.footer}
        return {"action": "open_panel", "open_panel": panel}


def panel_lines(lines: Iterable[str]) -> list[str]:
    """Returns the lines of a panel; a single str is split at its line feeds."""
    found = lines.split("\n") if isinstance(lines, str) else list(lines)
    for line in found:
        if not isinstance(line, str):
            raise TypeError(f"a panel's lines are str, not {type(line).__name__}")
    return found


def as_response(returned: object) -> Response:
    """Returns the response for a command handler's return value. Raises `TypeError` if it is not a response."""
    if returned is None:
        return Noop()
    if isinstance(returned, str):
        return Display(returned)
    if isinstance(returned, Response):
        return returned
    raise TypeError(f"a command returns a str, None or a response such as Prompt(...), not {type(returned).__name__}")
