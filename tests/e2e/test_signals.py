"""SIGINT, SIGTERM and SIGHUP end a run early, with a complete stream; a second signal ends it at once."""

from __future__ import annotations

import os
import signal
import time
from signal import Signals

import pytest

from tests.support.extension_folder import extension
from tests.support.faulty_run import program
from tests.support.golden import golden
from tests.support.places import PLACES, hanging
from tests.support.replay_script import Script
from tests.support.zot_process import check_transcript, wait_until
from wire.events import Session, ToolProgress, TurnStart
from wire.exit_codes import Status

STUBBORN = """
signal.signal(signal.SIGTERM, lambda *_: open(sys.argv[1], "w").close())
hello()
send(type="ready")
while True:
    signal.pause()
"""


@pytest.mark.parametrize(
    ("place", "number"),
    [*((place, signal.SIGINT) for place in PLACES), ("bash", signal.SIGTERM), ("bash", signal.SIGHUP)],
)
def test_an_interrupted_run_ends_whole(zot, place, number):
    with hanging(zot, place) as running:
        running.signal(number)
        outcome = running.finish().check(Status.INTERRUPTED)
    reason = f"interrupted by {number.name}"
    assert f"turn_end aborted: {reason}\nerror {reason}\nresult interrupted 130 " in golden(outcome)
    assert outcome.warnings == [f"zot: {reason}"]
    check_transcript(zot.session_rows())
    if place == "model":
        assert outcome.result.text == "Hello "
        assert zot.session_rows()[3]["message"]["content"] == [{"text": "Hello "}], "what had been said is kept"


def test_a_second_signal_kills_what_does_not_want_to_stop(zot):
    """Without it the command would have two seconds, and then the extension two more before its SIGTERM."""
    stubborn = program(zot.folder, "stubborn", STUBBORN, zot.folder / "terminated")
    stays = "trap ': > asked' TERM; echo up; while :; do sleep 0.1; done"
    script = Script(zot.cwd).call(("bash", {"command": stays}))
    with zot.start(*zot.replay_flags(script), "-e", stubborn, "go") as running:
        running.wait_for(ToolProgress)
        running.signal(signal.SIGINT)
        wait_until((zot.cwd / "asked").exists)
        running.signal(signal.SIGINT)
        running.finish().check(Status.INTERRUPTED)
    assert not (zot.folder / "terminated").exists()
    check_transcript(zot.session_rows())


def test_signals_until_the_end_leave_the_exit_status_that_the_result_has(zot):
    with hanging(zot, "bash") as running:
        while running.process.poll() is None:
            running.signal(signal.SIGTERM)
            time.sleep(0.0005)  # the pace of the flood: without it the run would hardly get to work
        running.finish().check(Status.INTERRUPTED)


def test_under_nohup_a_hang_up_is_ignored(zot):
    (zot.cwd / "go.sh").write_text('trap "" HUP; exec "$@"')
    script = Script(zot.cwd).call(("bash", {"command": "echo up; read x < pipe"}))
    shell = ["/bin/sh", str(zot.cwd / "go.sh"), *zot.command]
    os.mkfifo(zot.cwd / "pipe")
    with zot.start(*zot.replay_flags(script), "go", command=shell) as running:
        running.wait_for(ToolProgress)
        running.signal(signal.SIGHUP)
        with (zot.cwd / "pipe").open("w") as pipe:
            pipe.write("on\n")
        outcome = running.finish()
    assert "interrupted" not in outcome.text


@pytest.mark.parametrize("slow", ["silent", "slow_register"])
def test_an_extension_that_is_still_starting_does_not_hold_up_the_end(zot, slow):
    starting = extension(zot.folder, slow, timeouts={"hello": 600, "ready": 600, "intercept": 600})
    with zot.start(*zot.replay_flags(Script(zot.cwd).answer("x")), "-e", starting, "go") as running:
        running.child(slow)
        running.signal(signal.SIGINT)
        outcome = running.finish()
    if outcome.status == Status.INTERRUPTED.exit_code:
        outcome.check(Status.INTERRUPTED)
    assert outcome.status in (Status.INTERRUPTED.exit_code, -Signals.SIGINT)


def test_a_guard_that_is_still_starting_does_not_hold_up_the_end(zot):
    starting = extension(zot.folder, "silent", timeouts={"hello": 600, "intercept": 600}, on_failure="deny")
    script = Script(zot.cwd).answer("x")
    with zot.start(*zot.replay_flags(script), "-e", starting, "--ext-wait", "0", "go") as running:
        running.wait_for(Session)
        running.signal(signal.SIGINT)
        outcome = running.finish().check(Status.INTERRUPTED)
    assert outcome.leftovers == []
    assert not outcome.of(TurnStart), "the prompt waited for its verdict"
