"""Panels, and what the decorators refuse."""

from __future__ import annotations

from typing import Any

import pytest

import zotext
from zotext import Extension, OpenPanel, RegistrationError
from zotext.testing import Harness


def test_a_panel_is_opened_drawn_and_closed(ext: Extension):
    seen: list[Any] = []

    @ext.command
    def todo() -> OpenPanel:
        return OpenPanel("todo", "one\ntwo", title="To do", footer="q quits")

    @ext.on_panel_key("todo")
    def key(key: zotext.PanelKey) -> None:
        seen.append((key.key, key.text))
        if key.text == "q":
            ext.close_panel("todo")
        else:
            ext.render_panel("todo", ["one", "> two"])

    @ext.on_panel_resize("todo")
    def size(size: zotext.PanelSize) -> None:
        seen.append((size.width, size.height))

    @ext.on_panel_close("todo")
    def closed() -> None:
        seen.append("closed")

    with Harness(ext) as host:
        panel = host.run_command("todo").panel
        assert panel is not None
        assert (panel.title, panel.lines, panel.footer) == ("To do", ["one", "two"], "q quits")
        host.panel_key("todo", "down")
        assert host.panels["todo"].lines == ["one", "> two"]
        assert host.panels["todo"].title == "To do"
        host.panel_resize("todo", 80, 24)
        host.panel_key("other", "down")
        host.panel_key("todo", "rune", "q")
        assert host.panels == {}
        host.panel_close("todo")
    assert seen == [("down", ""), (80, 24), ("rune", "q"), "closed"]


@pytest.mark.parametrize(
    ("register", "text"),
    [
        (lambda ext: ext.command(name="/x")(lambda: None), "without the slash"),
        (lambda ext: ext.command(name="x")(lambda a, b: None), "takes one str"),
        (lambda ext: ext.tool(name="")(lambda: None), "needs a name"),
        (lambda ext: ext.tool(timeout_s=0)(lambda: None), "timeout_s"),
        (lambda ext: ext.on("turn_ende"), "there is no event 'turn_ende'"),
        (lambda ext: ext.on("turn_end")(lambda a, b: None), "takes one argument or none"),
        (lambda ext: ext.intercept_turn_start(lambda: None), "takes one argument"),
        (lambda ext: ext.intercept_tool_call(tools="bash"), "list of names"),
        (lambda ext: ext.on_shutdown(lambda a: None), "no argument"),
        (lambda ext: Extension(""), "needs a name"),
        (lambda ext: Extension("x", threads=0), "threads"),
    ],
)
def test_a_registration_that_is_refused_has_a_reason(ext: Extension, register: Any, text: str):
    with pytest.raises(RegistrationError, match=text):
        register(ext)
