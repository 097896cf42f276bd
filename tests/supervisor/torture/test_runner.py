"""The order of trials, and extensions that cannot be asked at all."""

from __future__ import annotations

from random import Random

import pytest

from supervisor.harness.harness import Harness
from supervisor.harness.script_runner import find_extension
from supervisor.home.config import Config
from supervisor.torture import player
from supervisor.torture.boxes import Boxes
from supervisor.torture.faults.table import FAULTS
from supervisor.torture.runner import _numbered, torture
from supervisor.torture.score import Outcome, Row
from tests.support.extension_folder import extension
from tests.support.host import PRELUDE
from wire.traces.black_box import decode


def test_a_good_extension_stands_a_handful_of_faults(torment, tmp_path):
    names = ("no-fault", "killed-in-call", "eof-in-call", "split-anywhere", "wrong-types", "empty-arguments", "SIGTERM")
    result = torment(extension(tmp_path, "echo.sh", timeouts={"hello": 30.0, "ready": 30.0}), *names)
    assert [(row.fault.name, row.outcome, row.reason) for row in result.rows if row.outcome is not Outcome.HELD] == []
    assert (result.score.held, result.score.percent) == (len(names), 100.0)
    assert str(result.subject.probe) == "tool echo"


def test_all_faults_come_in_order_and_then_again_while_there_is_time():
    rows = [Row(fault) for fault in FAULTS[:5]]
    looks = iter([True, *[True] * 7, False])

    def play(seed: int) -> list[tuple[str, int]]:
        return [(row.fault.name, number) for row, number in _numbered(rows, Random(seed), lambda: next(looks, False))]

    played = play(1)
    assert played[:5] == [(row.fault.name, 0) for row in rows]
    assert sorted(played[5:10]) == sorted((row.fault.name, 1) for row in rows)
    assert len(played) == 11
    assert played[10][1] == 2


@pytest.mark.parametrize(
    ("child", "failure"),
    [("exits_before_hello", "it exited before its hello (exit 3)"), ("killed_in_call", "it ended without any fault")],
)
def test_an_extension_that_fails_without_a_fault_is_not_tortured(torment, tmp_path, child, failure):
    result = torment(extension(tmp_path, child, timeouts={"hello": 30.0}))
    assert result.failure.startswith(failure)
    assert (result.score.applicable, result.score.percent) == (0, 0.0)
    assert all(row.trials == 0 for row in result.rows)


def test_an_extension_that_answers_nothing_is_tortured_without_questions(torment, written):
    observer = f"{PRELUDE}\nhello(events=['turn_start'])\nsend(type='ready')\nlist(frames())\n"
    result = torment(written(observer), "no-fault", "eof-after-ready", "storm-of-events", "storm-of-calls")
    outcomes = {row.fault.name: (row.outcome, row.reason) for row in result.rows}
    reason = "it has no tool, guard or command, and answers no ping"
    assert outcomes.pop("storm-of-calls") == (Outcome.NOT_APPLICABLE, reason)
    assert set(outcomes.values()) == {(Outcome.HELD, "")}


def test_the_black_box_of_a_fault_that_did_not_hold_is_kept(written, tmp_path, monkeypatch):
    monkeypatch.setenv("TORTURE_TOKEN", "secret-of-the-user")
    child = written(f"""{PRELUDE}
hello("count")
send(type="ready")
for frame in frames():
    if frame["args"] is None: os._exit(3)
    result(frame, "secret-of-the-user")
""")
    home = tmp_path / "home"
    chosen = [fault for fault in FAULTS if fault.name in ("storm-of-calls", "arguments-that-are-no-object")]
    with Harness() as harness:
        boxes = Boxes(home, Config(), "1.0")
        held, fallen = torture(harness, find_extension(child), seed=1, faults=chosen, boxes=boxes).rows
    assert (held.outcome, held.box, boxes.trouble) == (Outcome.HELD, None, "")
    assert fallen.box is not None
    assert fallen.box.parent == home / "runs"
    kept = decode(fallen.box.read_bytes())
    assert (kept.fault, kept.header.fall, kept.header.cause) == ("", "crashed", f"the fault {fallen.fault.name}")
    assert kept.frames[-1].text is not None
    assert '"args":null' in kept.frames[-1].text
    assert b"secret-of-the-user" not in fallen.box.read_bytes()


def test_a_home_that_cannot_be_written_costs_the_black_boxes_alone(torment, tmp_path, written):
    (tmp_path / "file").touch()
    boxes = Boxes(tmp_path / "file" / "home", Config(), "1.0")
    child = written(f"{PRELUDE}\nhello('count')\nsend(type='ready')\nfor frame in frames(): result(frame, 'x')\n")
    chosen = [fault for fault in FAULTS if fault.name == "empty-lines"]
    with Harness() as harness:
        (row,) = torture(harness, find_extension(child), seed=1, faults=chosen, boxes=boxes).rows
    assert (row.outcome, row.box) == (Outcome.NOT_HELD, None)
    assert boxes.trouble.endswith("Not a directory")


def test_lines_that_are_no_frames_count_once_if_they_always_come(torment, tmp_path):
    noisy = extension(tmp_path, "junk_in_calls", timeouts={"hello": 30.0, "ready": 30.0})
    rows = torment(noisy, "no-fault", "unknown-fields").rows
    assert rows[0].reason == "it wrote a line that is no frame: Listening on port 3000"
    assert rows[1].outcome is Outcome.HELD


def test_second_answers_count_once_if_they_always_come(torment, written):
    twice = """
hello("count")
send(type="ready")
for frame in frames():
    result(frame, "one")
    result(frame, "two")
"""
    names = ("no-fault", "storm-of-calls", "empty-arguments", "stopped-in-call")
    first, *others = torment(written(f"{PRELUDE}{twice}"), *names).rows
    assert (first.fault.name, first.reason) == ("no-fault", "1 call got more than one answer")
    assert {row.outcome for row in others} == {Outcome.HELD}


def test_a_process_that_is_left_is_found_where_none_may_be(torment, written, monkeypatch):
    leaves = """
import subprocess
null = subprocess.DEVNULL
left = subprocess.Popen(["sleep", "300"], stdin=null, stdout=null, stderr=null)
hello("count")
send(type="ready")
for frame in frames(): result(frame, "one")
os._exit(0)
"""
    monkeypatch.setattr(player, "LEFT_S", 0.2)
    rows = torment(written(f"{PRELUDE}{leaves}"), "no-fault", "eof-after-ready", "host-gone", "storm-of-calls").rows
    reasons = {row.fault.name: row.reason for row in rows}
    assert reasons.pop("storm-of-calls") == ""
    assert set(reasons.values()) == {"it ended and left 1 process"}
