"""Completion while typing: commands with their descriptions, their arguments, and paths after `@`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

Choices = Callable[[str], Sequence[tuple[str, str]]]
_PATH = re.compile(r"(?:^|\s)@(?:\"([^\"\n]*)|([^\s\"]*))$")
_COMMAND = re.compile(r"/[^\s/]*$")
_ARGUMENT = re.compile(r"(/[^\s/]+)\s+([^\s@]\S*|)$")


class InputCompleter(Completer):
    """Completes a line. `commands` gives names and descriptions, `arguments` those of the arguments of a command."""

    def __init__(self, commands: Callable[[], Sequence[tuple[str, str]]], arguments: Choices, cwd: str) -> None:
        self._commands = commands
        self._arguments = arguments
        self._paths = PathCompleter(get_paths=lambda: [cwd], expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The completions at the cursor."""
        before = document.text_before_cursor
        if _COMMAND.fullmatch(before):
            yield from _matching(before, self._commands())
        elif (found := _ARGUMENT.fullmatch(before)) is not None:
            yield from _matching(found[2], self._arguments(found[1]))
        elif (path := _PATH.search(document.current_line_before_cursor)) is not None:
            begun = path[1] or path[2] or ""
            for each in self._paths.get_completions(Document(begun), complete_event):
                name = begun + each.text + ("/" if each.display_text.endswith("/") else "")
                begin = '"' if path[1] is None and re.search(r"\s", name) else ""
                end = '"' if (begin or path[1] is not None) and not name.endswith("/") else ""
                if not re.search(r'["\n]', name):  # no prompt can name it
                    yield Completion(begin + name + end, -len(begun), display=each.display)


def _matching(begun: str, choices: Iterable[tuple[str, str]]) -> Iterable[Completion]:
    for name, description in choices:
        if name.lower().startswith(begun.lower()):
            yield Completion(name, -len(begun), display_meta=description)


def may_complete(text: str) -> bool:
    """Whether a part of the text can be completed."""
    return text[:1] == "/" or "@" in text
