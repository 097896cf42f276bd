"""An extension that did not start is named where it is missed, and the same trouble is told once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.support.extension_folder import folder
from tests.support.faulty_run import program
from wire import events
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot

CRASHES = 'raise OSError("the desk is closed")'
STARTS = """
hello()
send(type="register_command", name="open")
send(type="ready")
for frame in frames():
    send(type="command_response", id=frame["id"], action="prompt", prompt="open it")
"""
AS_TEXT = "to send it to the model as text, put -- or a space before it"


@pytest.fixture
def closed(zot: Zot) -> Path:
    return program(zot.folder, "desk", CRASHES)


def test_the_record_of_a_failed_start_does_not_promise_another_one(zot: Zot, closed: Path) -> None:
    outcome = zot.run("--json", "/open", "-e", closed).check(Status.ERROR)
    messages = [record.message for record in outcome.of(events.Extension)]
    assert len(messages) == 1
    assert "restarting" not in messages[0]
    assert "extension desk did not start" in outcome.result.reason


def test_a_near_name_stands_beside_what_did_not_start(zot: Zot, closed: Path) -> None:
    outcome = zot.run("-p", "/opne", "-e", closed, "-e", program(zot.folder, "shop", STARTS))
    assert outcome.status == 1
    *_, line = outcome.stderr.splitlines()
    assert "extension desk did not start" in line
    assert line.endswith(f"did you mean '/open'; {AS_TEXT}")


def test_a_disabled_extension_and_one_that_is_not_trusted_are_named(zot: Zot) -> None:
    home = program(zot.folder, "till", STARTS, enabled=False)
    (zot.home / "extensions").mkdir(parents=True, exist_ok=True)
    home.rename(zot.home / "extensions" / "till")
    project = program(zot.folder, "desk", STARTS)
    (zot.cwd / ".zot" / "extensions").mkdir(parents=True)
    project.rename(zot.cwd / ".zot" / "extensions" / "desk")
    outcome = zot.run("-p", "/open")
    assert outcome.status == 1
    *_, line = outcome.stderr.splitlines()
    assert "extension till is disabled (zot ext enable turns it on)" in line
    assert "extension desk is not trusted" in line


def test_the_same_trouble_is_one_line_and_a_record_for_each(zot: Zot) -> None:
    names = [f"desk{number:02}" for number in range(20)]
    flags: list[str | Path] = []
    for name in names:
        flags += ["-e", folder(zot.folder, name, ["python-that-is-not-installed"])]
    outcome = zot.run("--json", "/open", *flags).check(Status.ERROR)
    first, last = outcome.stderr.splitlines()
    assert re.fullmatch(
        r"zot: extensions desk00, desk01, desk02, desk03, desk04 and 15 more:"
        r" cannot start python-that-is-not-installed: no such program on PATH \(log: .*ext-NAME\.log\)",
        first,
    )
    assert "extensions desk00, desk01, desk02, desk03, desk04 and 15 more did not start: cannot start" in last
    failed = [record.extension for record in outcome.of(events.Extension) if record.event == "failed"]
    assert sorted(failed) == names
