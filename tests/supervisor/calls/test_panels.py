"""Notes and panels belong to their sender, and end with it."""

from __future__ import annotations

import json
import signal
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


def test_the_answer_to_a_key_is_shown_at_once_also_after_a_flood(host: Watched):
    host.run("open")
    host.run("flood")
    host.supervisor.panels.press("x", "p", "up")
    assert host.shown[-1] == events.PanelRender("x", "p", "T", ("line 1999",), "f")
    host.run("draw")
    assert host.shown[-1] == events.PanelRender("x", "p", "T", ("two", "three"), "f")


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


# --- panels that nobody has asked for -------------------------------------------------------------------------

OPENS = """
import json
send(type="hello", name="x")
BEFORE
send(type="register_command", name="say")
send(type="ready")
for frame in frames():
    if frame["type"] == "command_invoked":
        for line in json.loads(frame["args"]):
            print(line if isinstance(line, str) else json.dumps({"type": "open_panel", **line}), flush=True)
        send(type="command_response", id=frame["id"], action="noop")
    elif frame["type"].startswith("panel_"):
        send(type="panel_render", panel_id=frame["panel_id"], lines=[frame.get("key", "")])
"""


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Any]:
    """Starts an extension with a command that opens these panels."""
    with Watched(tmp_path) as watched:

        def start(before: str = "", **manifest: Any) -> Watched:
            watched.write("x", OPENS.replace("BEFORE", before), **manifest)
            watched.start()
            return watched

        yield start


def say(host: Watched, *frames: Any) -> None:
    assert host.run("say", json.dumps(frames)).reason == ""


def test_a_panel_that_an_extension_opens_by_itself_is_like_any_other(opens: Any):
    host = opens()
    say(host, {"panel": {"id": "p", "title": "T", "lines": ["one"]}})
    host.supervisor.panels.press("x", "p", "up")
    host.until(lambda: len(host.shown) > 1)
    host.supervisor.panels.close("x", "p")
    assert host.shown == [
        events.PanelOpen("x", "p", "T", ("one",), ""),
        events.PanelRender("x", "p", "T", ("up",), ""),
        events.PanelClose("x", "p"),
    ]
    assert host.said_of("x") == []


def test_it_may_open_one_before_it_is_ready(opens: Any):
    host = opens('send(type="open_panel", panel={"id": "p"})')
    assert [panel.id for panel in host.supervisor.panels.open_panels] == ["p"]


def test_an_id_that_is_open_gets_the_new_content(opens: Any):
    host = opens()
    say(host, {"panel": {"id": "p", "title": "T"}}, {"panel": {"id": "p", "lines": ["new"]}})
    assert host.shown[-1] == events.PanelOpen("x", "p", "T", ("new",), "")
    assert len(host.supervisor.panels.open_panels) == 1


@pytest.mark.parametrize(
    ("frame", "line"),
    [
        ({}, "bad open_panel frame: Object missing required field `panel`; ignored"),
        ({"panel": {}}, "bad open_panel frame: Object missing required field `id` - at `$.panel`; ignored"),
        ({"panel": {"id": 5}}, "bad open_panel frame: Expected `str`, got `int` - at `$.panel.id`; ignored"),
        (
            {"panel": {"id": "p", "lines": "one"}},
            "bad open_panel frame: Expected `array | null`, got `str` - at `$.panel.lines`; ignored",
        ),
        ({"panel": "p"}, "bad open_panel frame: Expected `object`, got `str` - at `$.panel`; ignored"),
        (
            {"panel": {"id": "p" * 300_000}},
            "a open_panel frame of 300043 bytes is over the limit of 262144 bytes; dropped",
        ),
    ],
)
def test_a_panel_that_cannot_be_read_is_told_once(opens: Any, frame: dict[str, Any], line: str):
    host = opens()
    say(host, frame, frame, {"panel": {"id": "good"}})
    assert host.said_of("x") == [("warning", line)]
    assert [panel.id for panel in host.supervisor.panels.open_panels] == ["good"]


def test_of_ten_thousand_panels_as_many_open_as_may_and_it_is_told(opens: Any):
    host = opens()
    say(host, *({"panel": {"id": str(number)}} for number in range(10_000)))
    assert len(host.supervisor.panels.open_panels) == PANELS_LIMIT
    lines = {
        f"a panel that it opens is not shown: {why}"
        for why in (f"it has {PANELS_LIMIT} panels open, the maximum", "it opens panels faster than they can be shown")
    }
    told = [message for _, message in host.said_of("x")]
    assert told
    assert set(told) <= lines
    assert len(told) == len(set(told))


def test_to_open_and_close_without_end_floods_no_reader(opens: Any):
    host = opens()
    pair = [{"panel": {"id": "p"}}, '{"type":"panel_close","panel_id":"p"}']
    say(host, *pair * 5_000)
    opened = [shown for shown in host.shown if isinstance(shown, events.PanelOpen)]
    assert PANELS_LIMIT <= len(opened) < 1_000
    assert ("warning", "a panel that it opens is not shown: it opens panels faster than they can be shown") in (
        host.said_of("x")
    )


def test_the_panels_of_a_pool_belong_to_the_worker_that_opened_them(opens: Any):
    host = opens('send(type="open_panel", panel={"id": str(os.getpid())})', workers=2)
    panels = host.supervisor.panels
    host.until(lambda: len(panels.open_panels) == 2)
    assert {str(panel.worker.pid) for panel in panels.open_panels} == {panel.id for panel in panels.open_panels}
    gone, left = panels.open_panels
    gone.worker.kill(signal.SIGKILL)
    host.until(lambda: len(panels.open_panels) == 1)
    assert panels.open_panels == [left]


def test_a_version_that_has_not_taken_over_opens_none(opens: Any, tmp_path: Path):
    host = opens()
    script = tmp_path / "x.py"
    early = 'send(type="open_panel", panel={"id": "early"})\nsend(type="ready")\n'
    script.write_text(script.read_text().replace('send(type="ready")\n', early, 1))
    extension, outcomes = host.extension("x"), []
    extension.handover.reload(extension.found, host.supervisor.environment_of(extension.found), None, outcomes.append)
    host.until(lambda: outcomes)
    assert host.supervisor.panels.open_panels == []
    why = "a panel that it opens is not shown: its version has not taken over yet"
    assert ("x", "warning", why) in host.notices
