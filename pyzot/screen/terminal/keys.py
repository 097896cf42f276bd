"""The keys of the screen."""

from __future__ import annotations

from prompt_toolkit.filters import Condition, Filter
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.keys import Keys

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    has_panel = Condition(
        lambda: screen.conversation.panels.top is not None and screen.conversation.questions.first is None
    )
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
    area = screen.input

    @keys.add(Keys.ControlM, filter=has_input & Condition(lambda: not _is_searching()))
    def _enter(_event: KeyPressEvent) -> None:
        state = area.buffer.complete_state
        if state is not None and state.current_completion is not None:
            area.buffer.complete_state = None
        elif area.buffer.document.text_before_cursor.endswith("\\"):
            area.buffer.delete_before_cursor()
            area.buffer.newline(copy_margin=False)
        else:
            screen.enter()

    @keys.add(Keys.ControlJ, filter=has_input)
    @keys.add(Keys.Escape, Keys.ControlM, filter=has_input)
    def _newline(_event: KeyPressEvent) -> None:
        area.buffer.newline(copy_margin=False)

    @keys.add(Keys.ControlI, filter=has_input)
    def _complete(_event: KeyPressEvent) -> None:
        if area.buffer.complete_state is not None:
            area.buffer.complete_next()
        else:
            area.buffer.start_completion(select_first=False, insert_common_part=True)

    keys.add(Keys.BackTab, filter=has_input)(lambda _event: area.buffer.complete_previous())
    keys.add(Keys.BracketedPaste, filter=has_input)(lambda event: area.paste(event.data))

    @keys.add(Keys.Up, filter=has_input & Condition(lambda: not area.buffer.text))
    def _take_back(event: KeyPressEvent) -> None:
        if waiting := screen.conversation.take_back():
            area.put(waiting)
        else:
            area.buffer.auto_up(count=event.arg)

    keys.add(Keys.Escape, filter=has_input)(lambda _event: screen.escape())
    keys.add(Keys.ControlC, filter=has_input)(lambda _event: screen.interrupt())
    keys.add(Keys.SIGINT)(lambda _event: screen.interrupt())

    @keys.add(Keys.ControlD, filter=has_input & Condition(lambda: not area.buffer.text))
    def _leave(_event: KeyPressEvent) -> None:
        screen.conversation.leave()

    keys.add(Keys.ControlO, filter=has_input)(lambda _event: screen.unfold())
    keys.add(Keys.ControlT, filter=has_input)(lambda _event: screen.show_thinking())

    @keys.add(Keys.ControlL, filter=has_input)
    def _draw_again(event: KeyPressEvent) -> None:
        event.app.renderer.clear()


def _is_searching() -> bool:
    from prompt_toolkit.application import get_app

    return bool(get_app().layout.is_searching)
