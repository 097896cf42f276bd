"""The keys of the screen."""

from __future__ import annotations

from prompt_toolkit.filters import Condition, Filter, is_searching
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit.key_binding import KeyPressEvent

    from .screen import TerminalScreen

TO_PANEL = {
    Keys.Up: "up",
    Keys.Down: "down",
    Keys.Left: "left",
    Keys.Right: "right",
    Keys.ControlM: "enter",
    Keys.ControlJ: "enter",
    Keys.ControlI: "tab",
    Keys.ControlH: "backspace",
    Keys.Delete: "delete",
    Keys.Home: "home",
    Keys.End: "end",
    Keys.PageUp: "pageup",
    Keys.PageDown: "pagedown",
}
"""The names of keys in `panel_key`. A character is `rune`, with its text; any other key is `unknown`."""
DOUBLE_S = 0.6
"""Seconds within which a second Esc edits the last prompt."""


def key_bindings(screen: TerminalScreen) -> KeyBindings:
    """All keys. While a panel is open it gets them."""
    keys = KeyBindings()
    has_panel = Condition(lambda: screen.scene.panels.top is not None and screen.scene.questions.first is None)
    _bind_panel(keys, screen, has_panel)
    _bind_input(keys, screen, ~has_panel)
    keys.add(Keys.ControlZ)(lambda _event: screen.suspend())
    return keys


def _bind_panel(keys: KeyBindings, screen: TerminalScreen, has_panel: Filter) -> None:
    def pressed(event: KeyPressEvent) -> None:
        press = event.key_sequence[0]
        key = press.key
        name = TO_PANEL.get(key) if isinstance(key, Keys) else None
        if name is not None:
            screen.press(name)
        elif key is Keys.BracketedPaste or (not isinstance(key, Keys) and len(str(key)) == 1):
            screen.press("rune", press.data)
        else:
            screen.press("unknown")

    keys.add(Keys.Any, filter=has_panel, eager=True)(pressed)
    for key in (*TO_PANEL, Keys.BracketedPaste):
        keys.add(key, filter=has_panel, eager=True)(pressed)
    for closing in (Keys.Escape, Keys.ControlC):
        keys.add(closing, filter=has_panel, eager=True)(lambda _event: screen.close_panel())


def _bind_input(keys: KeyBindings, screen: TerminalScreen, has_input: Filter) -> None:
    buffer = screen.input.buffer
    is_empty = has_input & Condition(lambda: not buffer.text)

    def enter(_event: KeyPressEvent) -> None:
        state = buffer.complete_state
        if state is not None and state.current_completion is not None:
            buffer.complete_state = None
        elif buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        else:
            screen.enter()

    def complete(_event: KeyPressEvent) -> None:
        if buffer.complete_state is not None:
            buffer.complete_next()
        else:
            buffer.start_completion(select_first=False, insert_common_part=True)

    def up(event: KeyPressEvent) -> None:
        if waiting := screen.conversation.take_back():
            screen.input.put(waiting)
        else:
            buffer.auto_up(count=event.arg)

    deeds: dict[Keys, Callable[[KeyPressEvent], object]] = {
        Keys.ControlJ: lambda _event: buffer.newline(copy_margin=False),
        Keys.ControlI: complete,
        Keys.BackTab: lambda _event: buffer.complete_previous(),
        Keys.BracketedPaste: lambda event: screen.input.paste(event.data),
        Keys.Escape: lambda _event: screen.escape(),
        Keys.ControlC: lambda _event: screen.interrupt(),
        Keys.SIGINT: lambda _event: screen.interrupt(),
        Keys.ControlO: lambda _event: screen.unfold(),
        Keys.ControlT: lambda _event: screen.show_thinking(),
        Keys.ControlL: lambda event: event.app.renderer.clear(),
    }
    for key, deed in deeds.items():
        keys.add(key, filter=has_input)(deed)
    keys.add(Keys.Escape, Keys.ControlM, filter=has_input)(deeds[Keys.ControlJ])
    keys.add(Keys.ControlM, filter=has_input & ~is_searching)(enter)
    keys.add(Keys.Up, filter=is_empty)(up)
    keys.add(Keys.ControlD, filter=is_empty)(lambda _event: screen.scene.leave())
