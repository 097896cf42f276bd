"""Records that belong to no prompt, and lines on stderr: each is shown once."""

from __future__ import annotations

import asyncio

import pytest

from pyzot import events as ev
from pyzot.screen import records as records_module
from pyzot.screen.records import COMPARED, NEW_COMMANDS, Records
from pyzot.screen.scene import Scene
from tests.pyzot.screen.conftest import KeptView
from tests.pyzot.screen.view.test_transcript import RESULT, RUN, read


def taken(*given, width=60):
    """The scene after these records and lines on stderr."""

    async def run():
        scene = Scene({}, KeptView(), clock=lambda: 0.0, columns=width)
        refreshed = []
        scene.refresh_soon = lambda: refreshed.append(True)
        records = Records(scene)
        for each in given:
            (records.line if isinstance(each, str) else records.take)(each)
        done = asyncio.Event()
        asyncio.get_running_loop().call_later(records_module.ECHO_S, done.set)
        await done.wait()
        scene.refreshed = len(refreshed)
        return scene

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(records_module, "ECHO_S", 0.0)


@pytest.mark.parametrize(
    ("line", "record"),
    [
        ("[e] warn: look out", ev.ExtNotify("e", "warn", "look  out\n")),
        ("zot: extension e: it ended (exit 3)", ev.ExtensionNotice("e", "exited", "it ended (exit 3)")),
        ("zot: guard refused bash: rm", ev.ExtensionNotice("guard", "blocked", "refused bash: rm")),
        ("zot: second line", ev.Error("first line\nsecond line")),
        ("zot: extension e: " + "x" * (COMPARED + 99) + " …", ev.ExtensionNotice("e", "failed", "x" * 3000)),
    ],
)
def test_a_line_that_a_record_says_too_is_not_shown(line, record):
    text = line.removeprefix("zot: ")
    for given in ((line, record), (record, line)):
        assert taken(*given).view.lines.count(text) == taken(record).view.lines.count(text)
    assert taken(line).view.lines == [text]
    assert f"{text[:30]} but other" in taken(record, f"{text[:30]} but other").view.lines


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
