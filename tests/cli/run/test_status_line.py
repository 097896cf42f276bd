"""The status line of `zot -p` on a terminal."""

from __future__ import annotations

import os
import pty

import pytest

from cli.run.headless import ERASE, StatusLine
from wire import events


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (events.Retry(2, 3, 4.0, "rate limited", 429), "turn 7: rate limited; try 2 of 3 in 4 s"),
        (events.Retry(3, 3, 0.43, "no connection", None), "turn 7: no connection; try 3 of 3 in 0.4 s"),
        (events.CompactStart("window", 900, 1000), "compacting the conversation"),
        (events.AssistantStart(), "turn 7: the model is answering"),
    ],
)
def test_what_is_shown(monkeypatch, record, line):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    reader, terminal = pty.openpty()
    try:
        status = StatusLine(terminal)
        status.show(events.TurnStart(7))
        status.show(record)
        shown = os.read(reader, 4096).decode()
        while not shown.endswith(line):
            shown += os.read(reader, 4096).decode()
        assert shown == f"{ERASE}turn 7: waiting for the model{ERASE}{line}"
    finally:
        os.close(reader)
        os.close(terminal)
