"""Notes and panels belong to their sender, and end with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervisor.calls.panels import NOTES_LIMIT, PANELS_LIMIT
from tests.support.host import Host
from wire import events

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from supervisor.calls.command_call import CommandAnswer

PANEL = """
import json
send(type="hello", name="x", capabilities=["commands", "panels"])
for command in ("open", "draw", "flood", "close", "note", "clear", "die"):
    send(type="register_command", name=command + SUFFIX)
send(type="register_tool", name="seen" + SUFFIX, schema={"type": "object"})
send(type="ready")
seen = []
for frame in frames():
    if frame["type"].startswith("panel_"):
        seen.append(frame)
        continue
    if frame["type"] == "tool_call":
        result(frame, json.dumps(seen))
        continue
    name, id = frame["name"][:len(frame["name"]) - len(SUFFIX) or None], frame["id"]
    if name == "open":
        panel = {"id": frame.get("args", "p"), "title": "T", "lines": ["one"], "footer": "f"}
        send(type="command_response", id=id, action="open_panel", open_panel=panel)
        continue
    if name == "draw":
        send(type="panel_render", panel_id=frame.get("args", "p"), lines=["two", "three"])
    elif name == "flood":
        for number in range(2000):
            send(type="panel_render", panel_id="p", lines=["line %d" % number])
    elif name == "close":
        send(type="panel_close", panel_id=frame.get("args", "p"))
    elif name == "note":
        send(type="notify", level=frame.get("args", "info"), message="look")
    elif name == "clear":
        send(type="clear_notes")
    elif name == "die":
        sys.exit(3)
    send(type="command_response", id=id, action="noop")
"""


class Watched(Host):
    def __init__(self, folder: Path, **options: Any) -> None:
        self.shown: list[events.Record] = []
        super().__init__(folder, on_show=self.shown.append, **options)

    def run(self, name: str, args: str = "") -> CommandAnswer:
        answers: list[CommandAnswer] = []
        self.begin_command(name, args, answers.append)
        self.until(lambda: bool(answers))
        return answers[0]

    def seen(self, suffix: str = "") -> list[dict[str, Any]]:
        import json

        found: list[dict[str, Any]] = json.loads(self.text("seen" + suffix))
        return found


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Watched]:
    with Watched(tmp_path) as watched:
        watched.write("x", 'SUFFIX = ""\n' + PANEL)
        watched.write("y", 'SUFFIX = "_y"\n' + PANEL)
        watched.start()
        yield watched


def test_a_panel_from_its_opening_to_its_end(host: Watched):
    screen = host.supervisor.panels
    host.run("open")
    host.run("draw")
    screen.press("x", "p", "rune", "q")
    screen.resize("x", "p", 80, 24)
    host.run("close")
    assert host.shown == [
        events.PanelOpen("x", "p", "T", ("one",), "f"),
        events.PanelRender("x", "p", "T", ("two", "three"), "f"),
        events.PanelClose("x", "p"),
    ]
    assert host.seen() == [
        {"type": "panel_key", "panel_id": "p", "key": "rune", "text": "q"},
        {"type": "panel_resize", "panel_id": "p", "width": 80, "height": 24},
    ]
    with pytest.raises(KeyError):
        screen.press("x", "p", "up")


def test_a_panel_that_the_user_closes(host: Watched):
    host.run("open")
    host.supervisor.panels.close("x", "p")
    assert host.seen() == [{"type": "panel_close", "panel_id": "p"}]
    assert host.shown[-1] == events.PanelClose("x", "p")
    host.run("draw")
    assert host.shown[-1] == events.PanelClose("x", "p"), "what is closed stays closed"
    assert "panel_render for 'p', which is not open; ignored" in host.log("x")


def test_an_extension_cannot_change_the_panel_of_another(host: Watched):
    host.run("open")
    host.run("draw_y")
    host.run("close_y")
    assert len(host.supervisor.panels.open_panels) == 1
    host.run("open_y")
    assert {panel.extension.name for panel in host.supervisor.panels.open_panels} == {"x", "y"}, (
        "the same id, two panels"
    )


def test_the_panels_of_a_worker_end_with_it(host: Watched):
    host.run("open")
    host.run("open_y")
    assert host.run("die").reason.startswith("it ended (exit 3)")
    assert [panel.extension.name for panel in host.supervisor.panels.open_panels] == ["y"]
    assert host.shown[-1] == events.PanelClose("x", "p")


def test_a_panel_that_is_redrawn_without_pause_ends_with_its_newest_content(host: Watched):
    host.run("open")
    host.run("flood")
    newest = events.PanelRender("x", "p", "T", ("line 1999",), "f")
    host.until(lambda: host.shown[-1] == newest)
    assert len(host.shown) < 200


def test_panels_are_bounded(host: Watched):
    for number in range(PANELS_LIMIT):
        assert host.run("open", f"p{number}").frame is not None
    answer = host.run("open", "one more")
    assert (answer.frame, answer.reason) == (None, "it has 20 panels open, the maximum")
    assert host.run("open", "p3").frame is not None, "an open one can be opened again"


def test_an_answer_that_names_no_panel(host: Watched):
    host.write(
        "z",
        """
hello()
send(type="register_command", name="odd")
send(type="ready")
for frame in frames():
    send(type="command_response", id=frame["id"], action="open_panel")
""",
    )
    host.supervisor.start([host.found[-1]], {})
    host.until(lambda: host.supervisor.is_settled)
    assert host.run("odd").reason == "it names no panel to open"


def test_notes_stand_until_the_next_prompt_or_until_their_sender_takes_them_back(host: Watched):
    screen = host.supervisor.panels
    for command, level in (("note", "warn"), ("note_y", "info"), ("note", "fanfare")):
        host.run(command, level)
    assert [(note.extension, note.level) for note in screen.notes] == [("x", "warn"), ("y", "info"), ("x", "info")]
    host.run("clear")
    assert [note.extension for note in screen.notes] == ["y"]
    host.run("clear")
    assert [record for record in host.shown if isinstance(record, events.ClearNotes)] == [events.ClearNotes("x")]
    screen.begin_prompt()
    assert screen.notes == []


def test_notes_are_bounded(host: Watched):
    for number in range(NOTES_LIMIT + 10):
        host.supervisor.panels.note("x", "info", str(number))
    host.supervisor.panels.note("y", "info", "mine")
    assert [note.message for note in host.supervisor.panels.notes][:1] == ["10"]
    assert len(host.supervisor.panels.notes) == NOTES_LIMIT + 1
