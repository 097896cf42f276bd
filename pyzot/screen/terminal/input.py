"""The line that is typed: editing, several lines, paste, history and completion."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer, ThreadedCompleter
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.layout.containers import HSplit, Window
from prompt_toolkit.layout.controls import BufferControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.widgets import SearchToolbar

LONG_PASTE = 20
"""Lines. A longer paste stands in the input as one mark, and is put in its place when the line is entered; so does one
that contains such a mark."""
LONG_TEXT = 4000
"""Characters; the same for a paste with few lines."""
INPUT_ROWS = 10
MENU_ROWS = 7


class InputArea:
    """A `container` with the input and its menu. `prompt` is what stands before the first line. `offers_for` says for
    which text there may be completions: for others a menu in the making would take the next Up or Escape."""

    def __init__(
        self,
        history: History,
        completer: Completer,
        *,
        prompt: Callable[[], str],
        offers_for: Callable[[str], bool] = bool,
    ) -> None:
        self.buffer: Buffer = Buffer(
            history=history, completer=ThreadedCompleter(completer), multiline=True,
            complete_while_typing=Condition(lambda: offers_for(self.buffer.text)),
        )  # fmt: skip
        self._prompt = prompt
        self._pastes: dict[str, str] = {}
        search = SearchToolbar(ignore_case=True)
        self.control = BufferControl(self.buffer, search_buffer_control=search.control, preview_search=True)
        self.window = Window(
            self.control, wrap_lines=True, dont_extend_height=True, height=Dimension(min=1, max=INPUT_ROWS),
            get_line_prefix=self._line_prefix,
        )  # fmt: skip
        self.container = HSplit([self.window, search, CompletionsMenu(max_height=MENU_ROWS)])

    @property
    def rows(self) -> int:
        """About the rows that the input and its menu take."""
        lines = self.buffer.document.line_count
        state = self.buffer.complete_state
        menu = min(MENU_ROWS, len(state.completions)) if state is not None else 0
        return min(INPUT_ROWS, max(1, lines)) + menu

    def paste(self, text: str) -> None:
        """Inserts a pasted text; a long one as a mark."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + 1
        if lines > LONG_PASTE or len(text) > LONG_TEXT or any(mark in text for mark in self._pastes):
            size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
            marks = (f"[paste {number}: {size}]" for number in itertools.count(1))
            mark = next(mark for mark in marks if mark not in self._pastes and mark not in self.buffer.text)
            self._pastes[mark] = text
            text = mark
        self.buffer.insert_text(text)

    def take(self, *, is_kept: bool = True) -> str:
        """Empties the input and returns its text, with all pastes; keeps it in the history if `is_kept`."""
        marks = "|".join(map(re.escape, self._pastes)) or r"\Z"
        text = re.sub(marks, lambda found: self._pastes.pop(found[0], found[0]), self.buffer.text)
        if is_kept and text.strip():
            self.buffer.history.append_string(text)
        self.buffer.reset()
        return text

    def take_completion(self) -> None:
        """Closes the menu. The first command of it takes the place of the beginning of a command."""
        state = self.buffer.complete_state
        self.buffer.complete_state = None
        if state is not None and state.completions and state.current_completion is None:
            first, text = state.completions[0], self.buffer.text
            is_whole = any(each.text == text for each in state.completions)
            if text.startswith("/") and -first.start_position == len(text) and not is_whole:
                self.put(first.text)

    def put(self, text: str) -> None:
        """Replaces the text; the cursor is at its end."""
        self.buffer.text = text
        self.buffer.cursor_position = len(text)

    def _line_prefix(self, line: int, wrapped: int) -> StyleAndTextTuples:
        prompt = self._prompt()
        return [("bold", prompt)] if line == 0 and wrapped == 0 else [("", " " * len(prompt))]
