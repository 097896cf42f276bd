"""Where the prompt comes from: words, `--`, `-` or a pipe; and which input is never read, or not for ever."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import termios

import pytest

from cli.run import stdin
from cli.run.prompt import PromptError, StdinKind, StdinUse
from cli.run.stdin import StdinReader, kind_of
from tests.support.extension_folder import folder
from tests.support.host import PRELUDE
from tests.support.replay_script import Script
from tests.support.zot_process import wait_until
from wire.events import UserMessage
from wire.exit_codes import Status


def cassette(zot, prompt):
    return zot.replay_flags(Script(zot.cwd, prompt).answer("ok"))


def prompt_of(outcome):
    outcome.check(Status.OK)
    return outcome.of(UserMessage)[0].content[0].text


def piped_to(zot, data, *args):
    """Runs `zot` with this data in a pipe whose writing end is closed."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    try:
        return zot.run(*args, stdin=reading)
    finally:
        os.close(reading)


def piping(zot, data, prompt, *args):
    """The outcome of a run whose prompt became `prompt`."""
    outcome = piped_to(zot, data, *cassette(zot, prompt), *args)
    assert prompt_of(outcome) == prompt
    return outcome


@pytest.mark.parametrize(
    ("args", "prompt"),
    [
        (["fix", "--no-session", "it"], "fix it"),
        (["--", "--no-session", "-p"], "--no-session -p"),
        (["demo"], "demo"),
        (["two\nlines ☃ \u2028 and a", b"broken \xff byte"], "two\nlines ☃ \u2028 and a broken \ufffd byte"),
    ],
)
def test_words_are_the_prompt(zot, args, prompt):
    decoded = [arg if isinstance(arg, str) else os.fsdecode(arg) for arg in args]
    assert prompt_of(zot.run(*cassette(zot, prompt), *decoded)) == prompt


@pytest.mark.parametrize(
    ("dash", "piped", "prompt"),
    [
        (["-"], b" \n from a pipe\n\n", "from a pipe"),
        ([], b"broken \xff byte and \0" + b"x" * 1_000_000, "broken \ufffd byte and \0" + "x" * 1_000_000),
    ],
    ids=["text", "1 MB of bytes"],
)
def test_a_pipe_is_the_prompt(zot, dash, piped, prompt):
    source = zot.folder / "prompt"
    source.write_bytes(piped)
    with source.open("rb") as stdin:
        assert prompt_of(zot.run(*cassette(zot, prompt), *dash, stdin=stdin)) == prompt


class Feed:
    """A pipe and a clock: each wait delivers the next item after so many seconds, or the time passes."""

    def __init__(self, *items: tuple[float, bytes]) -> None:
        self.reading, self._writing = os.pipe()
        os.set_blocking(self.reading, False)
        self._items = [*items]
        self.now = 100.0
        self.waits: list[float | None] = []

    def __enter__(self) -> Feed:
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self.reading)
        if self._writing >= 0:
            os.close(self._writing)

    def wait(self, fd: int, seconds: float | None) -> bool:
        assert fd == self.reading
        self.waits.append(seconds)
        if self._items and (seconds is None or self._items[0][0] <= seconds):
            after, data = self._items.pop(0)
            self.now += after
            if data:
                os.write(self._writing, data)
            else:
                os.close(self._writing)
                self._writing = -1
            return True
        assert seconds is not None, "it would wait for ever"
        self.now += seconds
        return False

    def read(self, reading: StdinUse, timeout: float | None = None) -> bytes | None:
        return StdinReader(timeout, fd=self.reading, clock=lambda: self.now, wait=self.wait).read(reading)


END = b""
ECHO = """
hello()
send(type="register_command", name="echo")
send(type="ready")
for frame in frames():
    send(type="command_response", id=frame["id"], action="display", display=f"[{frame['args']}]")
"""


@pytest.mark.parametrize(
    ("reading", "items", "timeout", "expected"),
    [
        (StdinUse.OFFERED, [(0, b"a"), (0, END)], None, b"a"),
        (StdinUse.OFFERED, [(2.9, b"a"), (59, b"b"), (59, b"c"), (59, END)], None, b"abc"),
        (StdinUse.OFFERED, [(0, END)], None, b""),
        (StdinUse.OFFERED, [(3.1, b"late")], None, None),
        (StdinUse.OFFERED, [(3.1, b"late")], 600, None),
        (StdinUse.WANTED, [(5000, b"a"), (5000, b"b"), (5000, END)], None, b"ab"),
        (StdinUse.WANTED, [(200, b"a"), (99, END)], 300, b"a"),
    ],
)
def test_how_long_it_waits(reading, items, timeout, expected):
    with Feed(*items) as feed:
        assert feed.read(reading, timeout) == expected


@pytest.mark.parametrize(
    ("reading", "items", "timeout", "error", "text"),
    [
        (StdinUse.OFFERED, [(1, b"half"), (61, b"late")], None, PromptError, "4 bytes came, then none for 60 s"),
        (StdinUse.OFFERED, [(1, b"half"), (61, b"late")], 500, PromptError, "4 bytes came, then none for 60 s"),
        (StdinUse.OFFERED, [(1, b"half"), (50, b"late")], 30, TimeoutError, "did not end within 30 s"),
        (StdinUse.OFFERED, [(2, b"late")], 1.5, TimeoutError, "did not end within 1.5 s"),
        (StdinUse.WANTED, [(20, b"a"), (11, b"b")], 30, TimeoutError, "did not end within 30 s"),
    ],
)
def test_when_it_gives_up(reading, items, timeout, error, text):
    with Feed(*items) as feed, pytest.raises(error, match=text):
        feed.read(reading, timeout)


def test_a_pipe_that_another_reader_has_emptied_is_waited_for_again():
    with Feed((0, b"a"), (0, END)) as feed:
        answers = iter([True])  # that it has something, once, although it has not
        reader = StdinReader(
            None, fd=feed.reading, clock=lambda: feed.now, wait=lambda *given: next(answers, False) or feed.wait(*given)
        )
        assert reader.read(StdinUse.OFFERED) == b"a"


def test_an_endless_stdin_is_an_error(monkeypatch):
    monkeypatch.setattr(stdin, "LARGEST_BYTES", 1 << 20)
    zero = os.open("/dev/zero", os.O_RDONLY)
    try:
        with pytest.raises(PromptError, match="stdin is longer than 1 MiB: more than any model takes"):
            StdinReader(None, fd=zero).read(StdinUse.WANTED)
    finally:
        os.close(zero)


def test_words_and_a_pipe_belong_together(zot):
    outcome = piping(zot, b"+ added \xff\n", "review\n\n+ added \ufffd", "review")
    assert outcome.stderr == "zot: 10 bytes of stdin joined to the prompt\n"
    outcome = piping(zot, b"x", "a\n\nx\n\nb c", "a", "-", "b", "c")
    assert outcome.stderr == "zot: 1 byte of stdin joined to the prompt\n"


@pytest.mark.parametrize(("args", "piped"), [([], b""), ([], b" \n"), (["--no-stdin"], b"dropped")])
def test_nothing_is_said_where_nothing_is_to_be_joined(zot, args, piped):
    assert piping(zot, piped, "review", *args, "review").stderr == ""


def test_a_socket_is_read_like_a_pipe(zot):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"diff")
        ours.shutdown(socket.SHUT_WR)
        assert prompt_of(zot.run(*cassette(zot, "review\n\ndiff"), "review", stdin=theirs)) == "review\n\ndiff"


def test_a_pipe_that_says_nothing_is_left_alone_with_a_warning(zot):
    """Its writing end stays open, as with the stdin of a daemon or a CI runner."""
    reading, writing = os.pipe()
    try:
        outcome = zot.run(*cassette(zot, "words"), "words", stdin=reading)
        assert prompt_of(outcome) == "words"
        (line,) = outcome.warnings
        assert line.startswith("zot: nothing came through the pipe on stdin within 3 s; the prompt is its words alone")
        os.write(writing, b"still there")
        assert os.read(reading, 100) == b"still there"
        assert zot.run(*cassette(zot, "words"), "--no-stdin", "words", stdin=reading).stderr == ""
    finally:
        os.close(reading)
        os.close(writing)


def test_a_file_is_not_read_for_words_so_that_a_loop_over_it_goes_on(zot):
    (zot.cwd / "list").write_bytes(b"one\ntwo\n")
    flags = cassette(zot, "words")
    loop = 'while read -r line; do "$@" || exit; done <list'
    outcome = zot.run(*flags, "words", command=["/bin/sh", "-c", loop, "sh", *zot.command])
    assert outcome.status == 0, outcome
    assert len(outcome.of(UserMessage)) == 2
    (line,) = outcome.warnings  # at the end of the file there is nothing to warn of
    assert line == (
        "zot: stdin is a file, which was not read; - among the words joins it to them, --no-stdin hides this line"
    )
    with (zot.cwd / "list").open("rb") as file:
        assert zot.run(*flags, "--no-stdin", "words", stdin=file).stderr == ""
    with (zot.cwd / "list").open("rb") as file:
        outcome = zot.run(*cassette(zot, "words\n\none\ntwo"), "words", "-", stdin=file)
    assert prompt_of(outcome) == "words\n\none\ntwo"


def without_stdin(zot):
    """The options of a `zot` that has no descriptor 0."""
    return {"command": ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *zot.command]}


def test_what_is_no_pipe_and_no_file_is_not_read_for_words(zot):
    outcome = zot.run(*cassette(zot, "words"), "words", **without_stdin(zot))
    assert (prompt_of(outcome), outcome.stderr) == ("words", "")


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["--no-stdin"], "no prompt: no words and nothing piped in"),
        (["--no-stdin", "-"], "--no-stdin and - exclude each other"),
        (["-", "-"], "can stand once"),
    ],
)
def test_misuse(zot, args, complaint):
    source = zot.folder / "piped"
    source.write_bytes(b"piped")
    with source.open("rb") as file:
        assert complaint in zot.run("-p", *args, stdin=file).refusal()


def test_a_folder_cannot_be_read(tmp_path):
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        assert kind_of(directory) is StdinKind.OTHER
        with pytest.raises(PromptError, match="cannot read the prompt from stdin: Is a directory"):
            StdinReader(None, fd=directory).read(StdinUse.WANTED)
    finally:
        os.close(directory)


def test_a_command_gets_what_is_piped_as_its_arguments(zot):
    echo = folder(zot.folder, "echo", [sys.executable, "-I", "-S", "-c", PRELUDE + ECHO])
    outcome = piped_to(zot, b"milk\n", "-p", "--no-ext", "-e", echo, "/echo buy")
    assert (outcome.status, outcome.text) == (0, "[buy\n\nmilk]\n"), outcome
    outcome = piped_to(zot, b"/echo buy\n", *zot.replay_flags(Script(zot.cwd, "/echo buy").answer("ok")), "-")
    assert prompt_of(outcome) == "/echo buy"


@pytest.mark.parametrize(
    ("mode", "args", "has_stdin", "reason"),
    [
        ("-p", ["-"], True, "stdin was empty"),
        ("-p", [], True, "stdin was empty"),
        ("--json", [], False, "stdin was empty"),
        ("--json", ["  \n"], True, "its words are empty"),
    ],
)
def test_an_empty_prompt_is_a_usage_error(zot, mode, args, has_stdin, reason):
    outcome = zot.run(mode, *args, **({} if has_stdin else without_stdin(zot)))
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


@pytest.mark.parametrize("words", [["-"], ["words"]])
def test_sigint_while_waiting_for_the_prompt_ends_quietly(zot, words):
    with zot.start("-p", *words, stdin=subprocess.PIPE) as running:
        pipe = running.process.stdin
        pipe.write(b"half")
        pipe.flush()
        wait_until(lambda: fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)) == bytes(4))  # it has read all of the pipe
        running.signal(signal.SIGINT)
        outcome = running.finish()
    assert (outcome.status, outcome.stdout, outcome.stderr) == (Status.INTERRUPTED.exit_code, b"", "")
