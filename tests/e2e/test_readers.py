"""Readers of the output that leave, are slow, or were never there."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from tests.support.extension_folder import extension
from tests.support.patience import PATIENCE_S
from tests.support.places import PLACES, hanging
from tests.support.replay_script import Script, ok
from tests.support.zot_process import check_transcript
from wire.events import TextDelta
from wire.exit_codes import Status


@pytest.mark.parametrize("place", PLACES)
def test_a_reader_that_leaves_ends_the_run_silently(zot, place):
    with hanging(zot, place) as running:
        running.process.stdout.close()
        outcome = running.finish()
    assert (outcome.status, outcome.stderr, outcome.leftovers) == (Status.INTERRUPTED.exit_code, "", [])
    check_transcript(zot.session_rows())


def test_a_reader_that_takes_one_line_as_head_does(zot):
    script = Script(zot.cwd)
    for _ in range(3):
        script.call(("bash", {"command": "true"}), results=[ok("$ true\n\n[exit 0]  Took 0.0s")])
    flags = zot.replay_flags(script.answer("x" * 100_000))
    with zot.start(*flags, "go") as running:
        head = subprocess.Popen(["head", "-n", "1"], stdin=running.process.stdout, stdout=subprocess.PIPE)
        running.process.stdout.close()
        assert head.communicate(timeout=PATIENCE_S)[0].startswith(b'{"type":"session"')
        outcome = running.finish()
    assert outcome.status in (Status.OK.exit_code, Status.INTERRUPTED.exit_code)
    assert (outcome.stderr, outcome.leftovers) == ("", [])


@pytest.mark.slow
def test_a_slow_reader_gets_everything(zot):
    """The output exceeds pipe, outbox and reader together, so the run must wait for the reader."""
    text = "0123456789abcdef" * 200_000
    script = Script(zot.cwd).answer(text, chunks=512)
    with zot.start(*zot.replay_flags(script), "--no-session", "go") as running:
        running.wait_for(TextDelta)
        time.sleep(0.5)  # being slow is the subject
        assert running.process.poll() is None
        outcome = running.finish().check(Status.OK)
    assert "".join(delta.delta for delta in outcome.of(TextDelta)) == text
    assert outcome.result.text == text


@pytest.mark.slow
def test_an_aborted_run_does_not_wait_for_a_reader_that_does_not_read(zot):
    script = Script(zot.cwd).answer("x" * 4_000_000)
    with zot.start(*zot.replay_flags(script), "--no-session", "--timeout", "1", "go") as running:
        assert running.process.wait(PATIENCE_S) == Status.TIMEOUT.exit_code


def test_stdout_closed_from_the_start(zot):
    """As `>&-` in a shell. No other file may get the number of the descriptor, and with it the events."""
    shell = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *zot.command]
    guard = extension(zot.folder, "echo")
    script = Script(zot.cwd, extra={"echo": "Returns its text."})
    script.call(("write", {"path": "made", "content": "x\n"}), results=[ok("x\n")]).answer("Done.")
    outcome = zot.run(*zot.replay_flags(script), "-e", guard, "go", command=shell)
    assert (outcome.status, outcome.stdout, outcome.stderr, outcome.leftovers) == (0, b"", "", [])
    assert (zot.cwd / "made").read_text() == "x\n"
    check_transcript(zot.session_rows())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("closing", "mode"), [("<&-", "--json"), ("2>&-", "-p"), ("<&- >&- 2>&-", "--json"), ("<&- >&- 2>&-", "-p")]
)
def test_standard_streams_closed_from_the_start(zot, closing, mode):
    shell = ["/bin/sh", "-c", f'exec "$@" {closing}', "sh", *zot.command]
    guard = extension(zot.folder, "echo")
    script = Script(zot.cwd, extra={"echo": "Returns its text."})
    said = ok("$ cat; echo oops >&2\n\noops\n\n[exit 0]  Took 0.0s")
    script.call(("bash", {"command": "cat; echo oops >&2"}), results=[said])
    script.call(("echo", {"text": "hi"}), results=[ok("hi")])
    flags = zot.replay_flags(script.answer("Done."))[1:]
    outcome = zot.run(mode, *flags, "-e", guard, "go", command=shell)
    assert (outcome.status, outcome.leftovers) == (0, [])
    if ">&- " not in closing and mode == "-p":
        assert outcome.text == "Done.\n"
    check_transcript(zot.session_rows())


@pytest.mark.parametrize("mode", ["--json", "-p"])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_an_error(zot, mode):
    flags = zot.replay_flags(Script(zot.cwd).answer("Done."))[1:]
    with open("/dev/full", "wb") as full:
        outcome = zot.run(mode, *flags, "go", stdout=full)
    assert outcome.status == Status.ERROR.exit_code
    assert outcome.warnings == ["zot: cannot write to stdout: No space left on device"]
    assert outcome.leftovers == []
