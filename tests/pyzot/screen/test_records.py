"""Records that belong to no prompt: each is shown once."""

from __future__ import annotations

import asyncio

from pyzot import events as ev
from pyzot.screen.records import NEW_COMMANDS, Records
from pyzot.screen.scene import Scene
from tests.pyzot.screen.conftest import KeptView
from tests.pyzot.screen.view.test_transcript import RESULT, RUN, read


def taken(*given, width=60):
    """The scene after these records."""

    async def run():
        scene = Scene({}, KeptView(), clock=lambda: 0.0, columns=width)
        refreshed = []
        scene.refresh_soon = lambda: refreshed.append(True)
        records = Records(scene)
        for each in given:
            records.take(each)
        scene.refreshed = len(refreshed)
        return scene

    return asyncio.run(run())


def test_notes_come_and_go():
    scene = taken(ev.ExtNotify("e", "info", "one"), ev.ExtNotify("f", "loud", "two"), ev.ClearNotes("e"))
    assert scene.notes.lines(60, 5) == ["[f] two"]
    assert scene.view.announced == ["[e] one", "[f] two"]


def test_panels_come_and_go():
    opened = ev.PanelOpen("e", "1", "Todo", ("a",), "")
    drawn = ev.PanelRender("e", "1", "Todo", ("b",), "")
    assert "│ b" in taken(opened, drawn).panels.rows(60, 5)[1]
    assert taken(drawn, ev.PanelClose("e", "1")).view.lines == []
    scene = taken(opened, drawn, ev.PanelClose("e", "1"))
    assert scene.panels.top is None
    assert scene.view.lines == ["the panel Todo of e has closed"]


def test_extensions_are_counted_and_their_commands_listed_again():
    notices = [ev.ExtensionNotice("f", kind, "x") for kind in sorted(NEW_COMMANDS)]
    scene = taken(*map(read, RUN[:2]), *notices, ev.ExtensionNotice("other", "remark", "x"))
    assert scene.extensions == {"guard", "silent", "f"}
    assert scene.refreshed == 2 + len(notices)


def test_a_recorded_run_beside_the_prompts_of_the_user():
    lines = taken(*map(read, [*RUN, RESULT])).view.lines
    assert "● bash rm -rf build" in lines
    assert lines[-1].startswith("─ 4.2 s")


def test_the_outcome_of_a_command_is_not_shown_twice():
    assert taken(ev.ExtDisplay("e", "x"), ev.ExtInsert("e", "y"), read({"type": "later"})).view.lines == []
