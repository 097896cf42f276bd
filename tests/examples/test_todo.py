"""The todo example: one list for the tool, the command and the panel, which outlives processes and is never half."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.support.zot_process import Zot
from zotext.testing import spawn


@pytest.fixture
def todo(supervise):
    return supervise("todo")


def listed(host) -> list[str]:
    return host.text("todo_manage", action="list").splitlines()


def panel(host) -> list[str]:
    (found,) = host.supervisor.panels.open_panels
    return list(found.lines)


def press(host, *keys: str, lines: list[str]) -> None:
    """Presses the keys, and waits until the panel has these lines. A key of one letter is typed text."""
    for key in keys:
        host.supervisor.panels.press("todo", "todo", *(("rune", key) if len(key) == 1 else (key,)))
    host.until(lambda: panel(host) == lines)


def test_the_model_and_the_user_share_a_list(todo):
    assert listed(todo) == ["nothing to do"]
    assert todo.text("todo_manage", action="add", text=" buy\ntea ") == "added 1"
    assert todo.command("todo", "drink it").display == "added: drink it"
    assert todo.text("todo_manage", action="done", number=1) == "done: 1"
    assert listed(todo) == ["1 [x] buy tea", "2 [ ] drink it"]
    assert todo.text("todo_manage", action="remove", number=1) == "removed 1"
    assert listed(todo) == ["2 [ ] drink it"]
    todo.finish()


def test_the_panel(todo):
    for text in ("one", "two", "three"):
        todo.text("todo_manage", action="add", text=text)
    assert todo.command("todo").action == "open_panel"
    assert panel(todo) == ["> [ ] one", "  [ ] two", "  [ ] three"]
    press(todo, "down", "down", "down", lines=["  [ ] one", "  [ ] two", "> [ ] three"])
    press(todo, "up", "enter", lines=["  [ ] one", "> [x] two", "  [ ] three"])
    press(todo, " ", "d", lines=["  [ ] one", "> [ ] three"])
    press(todo, "a", "q", "x", "backspace", lines=["  [ ] one", "> [ ] three", "+ q_"])
    press(todo, "enter", lines=["  [ ] one", "> [ ] three", "  [ ] q"])
    press(todo, "a", "x", "esc", "delete", lines=["  [ ] one", "> [ ] q"])
    todo.text("todo_manage", action="done", number=1)
    todo.until(lambda: panel(todo) == ["  [x] one", "> [ ] q"])
    todo.supervisor.panels.press("todo", "todo", "esc")
    todo.until(lambda: not todo.supervisor.panels.open_panels)
    todo.finish()


def test_a_panel_that_the_user_has_closed_is_not_drawn_any_more(todo):
    """A call may overtake the news that the panel is closed: the SDK handles both at the same time."""
    todo.command("todo")
    todo.supervisor.panels.close("todo", "todo")

    def is_drawn() -> bool:
        before = todo.log("todo").count("not open")
        todo.text("todo_manage", action="add", text="x")
        return todo.log("todo").count("not open") > before

    assert not all(is_drawn() for _ in range(100))
    assert not is_drawn()
    todo.finish()


def test_the_list_outlives_the_process(supervise):
    first = supervise("todo")
    first.text("todo_manage", action="add", text="buy tea")
    first.finish()
    second = supervise("todo")
    assert listed(second) == ["1 [ ] buy tea"]
    os.kill(second.extension("todo").workers[0].pid, signal.SIGKILL)
    second.until(lambda: ("todo", "restarted") in [(name, kind) for name, kind, _ in second.notices])
    assert listed(second) == ["1 [ ] buy tea"]


def test_a_list_that_cannot_be_read_is_left_alone(todo):
    (todo.data / "todos.json").write_text('[{"id": 1, "text": "tea"')
    answer = todo.call("todo_manage", action="add", text="x")
    assert answer.frame.is_error
    assert "todos.json is not a list of todos; mend or remove it" in answer.frame.content[0].text
    assert "todos.json" in todo.command("todo").error
    assert "todos.json" in todo.command("todo", "x").error
    assert (todo.data / "todos.json").read_text() == '[{"id": 1, "text": "tea"'
    todo.finish()


def test_sessions_do_not_lose_what_others_add(start, tmp_path):
    sessions = [start("todo"), start("todo")]
    for session in sessions:
        session.frames_up_to("ready")
        session.send(
            "hello_ack", protocol_version=1, zot_version="1", provider="p", model="m",
            cwd=str(tmp_path), data_dir=str(tmp_path), extension_dir="/nowhere",
        )  # fmt: skip
    for number in range(10):
        for session in sessions:
            session.send("tool_call", id=str(number), name="todo_manage", args={"action": "add", "text": "x"})
    answers = [session.frame()["content"][0]["text"] for session in sessions for _ in range(10)]
    assert sorted(answers) == sorted(f"added {number}" for number in range(1, 21))
    assert len(json.loads((tmp_path / "todos.json").read_text())) == 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["todos.json", "todos.lock"]


def test_runs_that_share_a_process_have_one_list_and_a_panel_each(folder_of, tmp_path):
    with spawn(folder_of("todo"), data_dir=tmp_path) as host:
        for session in ("a", "b"):
            with host.session(session):
                host.run_command("todo")
        with host.session("b"):
            host.panel_key("todo", "rune", "a")
            host.panel_key("todo", "rune", "x")
            host.wait_for(lambda: host.panels["todo"].lines == ["+ x_"])
        with host.session("a"):
            assert host.call_tool("todo_manage", action="add", text="tea").text == "added 1"
            host.wait_for(lambda: host.panels["todo"].lines == ["> [ ] tea"])
            host.panel_close("todo")
        with host.session("b"):
            host.panel_key("todo", "enter")
            host.wait_for(lambda: host.panels["todo"].lines == ["> [ ] tea", "  [ ] x"])
        assert {frame["session_id"] for frame in host.frames if frame["type"] == "panel_render"} == {"a", "b"}
        with host.session("c"):
            host.panel_key("todo", "enter")  # as after a change of the session: nothing is open in this one
            host.wait_for(lambda: {"type": "panel_close", "panel_id": "todo", "session_id": "c"} in host.frames)


def test_through_zot(folder_of, tmp_path):
    zot = Zot(tmp_path)
    flags = ["-p", "--no-ext", "-e", folder_of("todo")]
    assert zot.run(*flags, "/todo buy tea").text == "added: buy tea\n"
    outcome = zot.run(*flags, "/todo")
    assert outcome.text == "To do\n> [ ] buy tea\nup/down  enter: done  d: delete  a: add  q: close\n"
    assert outcome.leftovers == []
