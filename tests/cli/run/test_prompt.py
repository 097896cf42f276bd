"""Where the prompt comes from: words, `--`, `-` or a pipe; and which input is never read."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import termios

import pytest

from tests.support.replay_script import Script
from tests.support.zot_process import wait_until
from wire.events import UserMessage
from wire.exit_codes import Status


def cassette(zot, prompt):
    return zot.replay_flags(Script(zot.cwd, prompt).answer("ok"))


def prompt_of(outcome):
    outcome.check(Status.OK)
    return outcome.of(UserMessage)[0].content[0].text


@pytest.mark.parametrize(
    ("args", "prompt"),
    [
        (["fix", "the", "test"], "fix the test"),
        (["fix", "--no-session", "it"], "fix it"),
        (["--", "--no-session", "-p"], "--no-session -p"),
        (["demo"], "demo"),
        (["two\nlines ☃ \u2028 end"], "two\nlines ☃ \u2028 end"),
        ([b"broken \xff byte"], "broken \ufffd byte"),
    ],
)
def test_words_are_the_prompt(zot, args, prompt):
    decoded = [arg if isinstance(arg, str) else os.fsdecode(arg) for arg in args]
    assert prompt_of(zot.run(*cassette(zot, prompt), *decoded)) == prompt


@pytest.mark.parametrize("dash", [["-"], []])
@pytest.mark.parametrize(
    ("piped", "prompt"),
    [
        (b" \n from a pipe\n\n", "from a pipe"),
        (b"broken \xff byte and \0", "broken \ufffd byte and \0"),
        (b"x" * 1_000_000, "x" * 1_000_000),
    ],
    ids=["text", "bytes", "1 MB"],
)
def test_a_pipe_is_the_prompt(zot, dash, piped, prompt):
    source = zot.folder / "prompt"
    source.write_bytes(piped)
    with source.open("rb") as stdin:
        assert prompt_of(zot.run(*cassette(zot, prompt), *dash, stdin=stdin)) == prompt


def test_words_win_over_a_pipe_which_is_not_read(zot):
    """The run does not wait for the pipe: its writing end stays open, as with the stdin of a daemon or a CI runner."""
    reading, writing = os.pipe()
    try:
        assert prompt_of(zot.run(*cassette(zot, "words"), "words", stdin=reading)) == "words"
        os.write(writing, b"still there")
        assert os.read(reading, 100) == b"still there"
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize(
    ("mode", "args", "stdin", "reason"),
    [
        ("-p", ["-"], "", "stdin was empty"),
        ("--json", ["-"], "", "stdin was empty"),
        ("-p", [], "", "stdin was empty"),
        ("--json", [], "<&-", "stdin was empty"),
        ("-p", ["-"], "<&-", "stdin was empty"),
        ("-p", ["  \n"], "", "its words are empty"),
        ("--json", ["  \n"], "", "its words are empty"),
    ],
)
def test_an_empty_prompt_is_a_usage_error(zot, mode, args, stdin, reason):
    shell = ["/bin/sh", "-c", f'exec "$@" {stdin or "</dev/null"}', "sh", *zot.command]
    outcome = zot.run(mode, *args, command=shell)
    assert (outcome.status, outcome.stdout) == (Status.USAGE.exit_code, b"")
    (line,) = outcome.warnings
    assert line.startswith("zot: ")
    assert reason in line


def test_a_terminal_is_not_read_unless_asked_for(zot):
    controlling, terminal = os.openpty()
    try:
        outcome = zot.run("-p", stdin=terminal)
        assert outcome.status == Status.USAGE.exit_code
        assert "no words and nothing piped in" in outcome.stderr
        with zot.start(*cassette(zot, "typed"), "-", stdin=terminal) as running:
            os.write(controlling, b"typed\n\x04")
            assert prompt_of(running.finish()) == "typed"
    finally:
        os.close(controlling)
        os.close(terminal)


def test_sigint_while_waiting_for_the_prompt_ends_quietly(zot):
    with zot.start("-p", "-", stdin=subprocess.PIPE) as running:
        pipe = running.process.stdin
        pipe.write(b"half")
        pipe.flush()
        wait_until(lambda: fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)) == bytes(4))  # it has read all of the pipe
        running.signal(signal.SIGINT)
        outcome = running.finish()
    assert (outcome.status, outcome.stdout, outcome.stderr) == (Status.INTERRUPTED.exit_code, b"", "")
