"""The keys of the screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prompt_toolkit.filters import Condition, Filter, is_searching
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from ..conversation import Conversation
from .input import InputArea

TO_PANEL: dict[Keys | str, str] = {
    Keys.Up: "up", Keys.Down: "down", Keys.Left: "left", Keys.Right: "right", Keys.ControlM: "enter",
    Keys.ControlJ: "enter", Keys.ControlI: "tab", Keys.ControlH: "backspace", Keys.Delete: "delete",
    Keys.Home: "home", Keys.End: "end", Keys.PageUp: "pageup", Keys.PageDown: "pagedown",
}  # fmt: skip
"""The names of keys in `panel_key`. A character is `rune`, with its text; any other key is `unknown`."""


def key_bindings(conversation: Conversation, area: InputArea, deeds: Mapping[Keys, Callable[[], None]]) -> KeyBindings:
    """All keys. While a panel is open it gets them; `deeds` are the others that concern the whole screen."""
    keys, scene = KeyBindings(), conversation.scene
    has_panel = Condition(lambda: scene.panels.top is not None and scene.questions.first is None)
    _bind_panel(keys, conversation, has_panel)
    bind_input(keys, area, ~has_panel, deeds[Keys.ControlM])

    @keys.add(Keys.Up, filter=~has_panel & Condition(lambda: not area.buffer.text))
    def _up(event: KeyPressEvent) -> None:
        if waiting := conversation.take_back():
            area.put(waiting)
        else:
            area.buffer.auto_up(count=event.arg)

    keys.add(Keys.ControlD, filter=~has_panel & Condition(lambda: not area.buffer.text))(lambda _event: scene.leave())
    keys.add(Keys.ControlT, filter=~has_panel)(
        lambda _event: scene.begin(scene.attempt(conversation.looking_back.show_thinking()))
    )
    keys.add(Keys.ControlZ)(lambda _event: deeds[Keys.ControlZ]())
    for key in (Keys.Escape, Keys.ControlC, Keys.SIGINT, Keys.ControlO):
        keys.add(key, filter=~has_panel)(lambda _event, deed=deeds[key]: deed())
    return keys


def _bind_panel(keys: KeyBindings, conversation: Conversation, has_panel: Filter) -> None:
    def pressed(event: KeyPressEvent) -> None:
        press = event.key_sequence[0]
        key = press.key
        if (name := TO_PANEL.get(key)) is not None:
            conversation.press(name)
        elif key is Keys.BracketedPaste or (not isinstance(key, Keys) and len(str(key)) == 1):
            conversation.press("rune", press.data.replace("\r", "\n"))
        else:
            conversation.press("unknown")

    for key in (Keys.Any, *TO_PANEL, Keys.BracketedPaste):
        keys.add(key, filter=has_panel, eager=True)(pressed)
    for closing in (Keys.Escape, Keys.ControlC):
        keys.add(closing, filter=has_panel, eager=True)(lambda _event: conversation.close_panel())


def bind_input(keys: KeyBindings, area: InputArea, has_input: Filter, submit: Callable[[], None]) -> None:
    """The keys that edit the input and choose a completion, and Enter."""
    buffer = area.buffer

    def complete(_event: KeyPressEvent) -> None:
        if buffer.complete_state is not None:
            buffer.complete_next()
        else:
            buffer.start_completion(select_first=False, insert_common_part=True)

    def newline(_event: KeyPressEvent) -> None:
        buffer.newline(copy_margin=False)

    keys.add(Keys.ControlJ, filter=has_input)(newline)
    keys.add(Keys.Escape, Keys.ControlM, filter=has_input)(newline)
    keys.add(Keys.ControlM, filter=has_input & ~is_searching)(lambda _event: _enter(area, submit))
    keys.add(Keys.ControlI, filter=has_input)(complete)
    keys.add(Keys.BackTab, filter=has_input)(lambda _event: buffer.complete_previous())
    keys.add(Keys.BracketedPaste, filter=has_input)(lambda event: area.paste(event.data))
    keys.add(Keys.ControlL, filter=has_input)(lambda event: event.app.renderer.clear())


def _enter(area: InputArea, submit: Callable[[], None]) -> None:
    """Takes the selected completion, begins a new line after a backslash, else submits."""
    buffer = area.buffer
    if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
        area.take_completion()
    elif buffer.document.text_before_cursor.endswith("\\"):
        buffer.delete_before_cursor()
        buffer.newline(copy_margin=False)
    else:
        area.take_completion()
        submit()
