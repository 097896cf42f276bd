#!/usr/bin/env python3
"""A list of todos: a panel and a command for the user, a tool for the model."""

from __future__ import annotations

import threading
from typing import Literal

import store
from store import Store
from view import View

from zotext import Display, Error, Extension, OpenPanel, PanelKey, ToolError

ext = Extension("todo", "1.0.0")
PANEL = "todo"


class Panel:
    """The panel of one session, with a view while it is open. Keys and tool calls run on different threads."""

    def __init__(self):
        self.view: View | None = None
        self.lock = threading.Lock()


panel = ext.session_state(Panel)  # several runs may share this process, and each has a panel of its own


def todos():
    return Store(ext.host.data_dir)


@ext.tool
def todo_manage(action: Literal["list", "add", "done", "remove"], text: str = "", number: int = 0) -> str:
    """List and change what the user has to do.

    Args:
        action: What to do.
        text: The new todo, to add one.
        number: Which one is done or to be removed, as the list says.
    """
    try:
        if action == "list":
            return listed(todos().read())
        with todos().changing() as found:
            if action == "add":
                said = f"added {store.add(found, text).id}"
            elif action == "done":
                store.find(found, number).done = True
                said = f"done: {number}"
            else:
                found.remove(store.find(found, number))
                said = f"removed {number}"
    except (ValueError, store.StoreError) as error:
        raise ToolError(str(error)) from None
    draw()
    return said


def listed(found):
    return "\n".join(f"{todo.id} [{'x' if todo.done else ' '}] {todo.text}" for todo in found) or "nothing to do"


@ext.command
def todo(args: str):
    """Show what is to be done in a panel, or add to it: /todo buy tea"""
    try:
        if args.strip():
            with todos().changing() as found:
                added = store.add(found, args)
            draw()
            return Display(f"added: {added.text}")
        with panel().lock:
            view = panel().view = View()
            return OpenPanel(PANEL, view.lines(todos().read()), title="To do", footer=view.footer)
    except store.StoreError as error:
        return Error(str(error))


@ext.on_panel_key(PANEL)
def pressed(key: PanelKey) -> None:
    with panel().lock:
        if (view := panel().view) is None:  # it was opened in an earlier session
            ext.close_panel(PANEL)
            return
        what = view.press(key.key, key.text, todos().read())
        if what == ("close",):
            panel().view = None
            ext.close_panel(PANEL)
            return
        if what is not None:
            with todos().changing() as found:
                change(found, *what)
    draw()  # after an exception the panel stays as it was; the log has it


def change(found, what, which):
    """Does nothing if another session has removed it meanwhile."""
    if what == "add":
        store.add(found, which)
    for todo in [todo for todo in found if todo.id == which]:
        if what == "toggle":
            todo.done = not todo.done
        elif what == "remove":
            found.remove(todo)


@ext.on_panel_close(PANEL)
def closed() -> None:
    with panel().lock:
        panel().view = None


def draw():
    """Draws the panel again, if it is open."""
    with panel().lock:
        if (view := panel().view) is not None:
            ext.render_panel(PANEL, view.lines(todos().read()), footer=view.footer)


if __name__ == "__main__":
    ext.run()
