"""The panel: its lines and its keys. No protocol, no disk."""

from __future__ import annotations

from dataclasses import dataclass

BROWSING = "up/down  enter: done  d: delete  a: add  q: close"
TYPING = "enter: add  esc: never mind"


@dataclass
class View:
    at: int = 0
    """Index of the marked line."""
    typed: str | None = None
    """A new todo while it is being typed."""

    def lines(self, todos):
        self.at = max(0, min(self.at, len(todos) - 1))
        lines = [
            f"{'>' if number == self.at else ' '} [{'x' if todo.done else ' '}] {todo.text}"
            for number, todo in enumerate(todos)
        ]
        if self.typed is not None:
            lines.append(f"+ {self.typed}_")
        return lines or ["nothing to do"]

    @property
    def footer(self):
        return BROWSING if self.typed is None else TYPING

    def press(self, key, text, todos):
        """Moves the mark or reads what is typed. Returns the action for the caller, if there is one: ("close",),
        ("toggle", id), ("remove", id) or ("add", text)."""
        if self.typed is not None:
            return self._type(key, text)
        if key == "esc" or text == "q":
            return ("close",)
        if text == "a":
            self.typed = ""
        elif key in ("up", "down"):
            self.at = max(0, min(self.at + (1 if key == "down" else -1), len(todos) - 1))
        elif self.at < len(todos) and (key == "enter" or text == " "):
            return ("toggle", todos[self.at].id)
        elif self.at < len(todos) and (key == "delete" or text == "d"):
            return ("remove", todos[self.at].id)
        return None

    def _type(self, key, text):
        if key == "rune":
            self.typed += text
        elif key == "backspace":
            self.typed = self.typed[:-1]
        elif key in ("esc", "enter"):
            typed, self.typed = self.typed, None
            if key == "enter" and typed.strip():
                return ("add", typed)
        return None
