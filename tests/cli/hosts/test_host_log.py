"""The events of `zot host` as lines."""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import UTC, datetime

import pytest

from cli.choices import LogFormat, LogLevel
from cli.hosts.host_log import HostLog
from supervisor.host_event import HostEvent
from tests.support.zot_process import ROOT

NOON = datetime(2026, 11, 22, 12, 0, 0, 5000, tzinfo=UTC)


def logged(
    *events: HostEvent, form: LogFormat = LogFormat.console, level: LogLevel = LogLevel.info, **options
) -> list[str]:
    lines: list[bytes] = []
    log = HostLog(lines.append, form=form, level=level, now=lambda: NOON, **options)
    for event in events:
        log(event)
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    return [line.decode().rstrip("\n") for line in lines]


CRASH = HostEvent("exited", "it ended (exit 3)", "warning", "guard")
SERVING = HostEvent("serving", "2 extensions", fields={"pid": 7, "socket": "/run/7.sock"})


def test_a_line_for_a_person():
    assert logged(CRASH, SERVING) == [
        "2026-11-22T12:00:00.005+00:00 warning exited     guard: it ended (exit 3)",
        "2026-11-22T12:00:00.005+00:00 info    serving    2 extensions pid=7 socket=/run/7.sock",
    ]


def test_a_level_is_not_said_twice():
    """A notice of the kind `warning` has that level; in JSON both fields stay."""
    doubled = HostEvent("warning", "writes junk", "warning", "guard")
    assert logged(doubled) == ["2026-11-22T12:00:00.005+00:00 warning            guard: writes junk"]
    (line,) = logged(doubled, form=LogFormat.json)
    assert (json.loads(line)["level"], json.loads(line)["event"]) == ("warning", "warning")


def test_json_has_the_same_in_order():
    (crash, serving) = logged(CRASH, SERVING, form=LogFormat.json)
    assert json.loads(crash) == {
        "time": "2026-11-22T12:00:00.005+00:00",
        "level": "warning",
        "event": "exited",
        "extension": "guard",
        "message": "it ended (exit 3)",
    }
    assert list(json.loads(serving)) == ["time", "level", "event", "message", "pid", "socket"]
    assert json.loads(serving)["pid"] == 7


@pytest.mark.parametrize("form", LogFormat)
def test_only_events_of_the_level_or_above_are_written(form):
    events = [HostEvent("x", level, level) for level in ("debug", "info", "warning", "error")]
    counts = {level: len(logged(*events, form=form, level=level)) for level in LogLevel}
    assert counts == {LogLevel.debug: 4, LogLevel.info: 3, LogLevel.warning: 2, LogLevel.error: 1}


def test_colours_are_in_no_line_unless_they_are_wanted():
    assert "\x1b" not in logged(CRASH)[0]
    assert "\x1b[33mwarning" in logged(CRASH, is_coloured=True)[0]


@pytest.mark.parametrize("form", LogFormat)
def test_no_text_controls_the_terminal_or_breaks_the_log(form):
    path = os.fsdecode(b"/caf\xe9")
    (line,) = logged(HostEvent("note", "\x1b[2Jgone \u202e", "info", "evil", {"path": path}), form=form)
    assert "\x1b" not in line
    assert "/caf" in line


def test_only_the_two_logs_import_structlog():
    importing = [
        path.relative_to(ROOT).as_posix()
        for package in ("wire", "supervisor", "agent", "cli", "pyzot", "zotext")
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"^\s*(?:import|from) structlog\b", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert importing == ["agent/batch/log.py", "cli/hosts/host_log.py"]
    assert "rich" not in sys.modules or sys.modules["rich"] is not None, "it can still be imported"
