"""`zot ext logs` without a name: the logs of all extensions, as a user sees them."""

from __future__ import annotations

import json
import os
import re
import signal
import time

import pytest

from supervisor.extension.log import ExtensionLog
from tests.support.patience import PATIENCE_S
from wire.exit_codes import Status


@pytest.fixture
def logs(zot):
    folder = zot.home / "logs"
    folder.mkdir(parents=True)
    return folder


def write(folder, *lines):
    """Writes lines, each a name, a text and the seconds at which it is written, one after another."""
    now = [0.0]
    opened = {}
    for name, text, at_s in lines:
        if name not in opened:
            opened[name] = ExtensionLog(folder, name, clock=lambda: now[0])
        now[0] = 1_700_000_000 + at_s
        opened[name].write(text.encode())
    for log in opened.values():
        log.close()


def test_each_line_has_the_name_of_its_extension_before_it(zot, logs):
    write(logs, ("guard", "one\n", 0), ("clock", "two\n", 1), ("guard", "\x1b[31mthree\n", 2), ("clock", "no end", 3))
    assert zot.run("ext", "logs").text == "guard  one\nclock  two\nguard  three\nclock  no end\n"
    assert zot.run("ext", "logs", "-n", "1").text == "clock  no end\n"
    timed = zot.run("ext", "logs", "-t", "-n", "2").text.splitlines()
    assert [re.sub(r"\d{4}-\S+", "TIME", line).split() for line in timed] == [
        ["guard", "TIME", "stderr", str(os.getpid()), "three"],
        ["clock", "TIME", "stderr", str(os.getpid()), "no", "end"],
    ]
    records = zot.run("ext", "logs", "--json").json_lines
    assert [(record["extension"], record["line"]) for record in records] == [
        ("guard", "one"), ("clock", "two"), ("guard", "\x1b[31mthree"), ("clock", "no end"),
    ]  # fmt: skip
    assert len(zot.run("ext", "logs", "--run", str(os.getpid())).text.splitlines()) == 4
    assert zot.run("ext", "logs", "--since", "1h").text == ""


def test_the_log_of_one_extension_is_shown_as_it_is(zot, logs):
    write(logs, ("guard", "one\n", 0), ("clock", "two\n", 1))
    assert zot.run("ext", "logs", "guard").text == "one\n"
    refusal = zot.run("ext", "logs", "gard")
    assert refusal.status == Status.USAGE.exit_code
    assert "no such log of an extension: 'gard'; did you mean 'guard'?" in refusal.stderr


def test_without_any_log(zot):
    outcome = zot.run("ext", "logs")
    assert (outcome.status, outcome.stdout) == (Status.ERROR.exit_code, b"")
    assert "there are no logs of extensions in" in outcome.stderr


def test_one_that_cannot_be_read_is_named_and_the_others_are_shown(zot, logs):
    write(logs, ("guard", "one\n", 0))
    (logs / "ext-broken.log").mkdir()
    outcome = zot.run("ext", "logs")
    assert (outcome.status, outcome.text) == (Status.ERROR.exit_code, "guard   one\n")
    assert "ext-broken.log cannot be shown: Is a directory" in outcome.stderr


def test_following_shows_logs_that_appear_later(zot):
    with zot.start("ext", "logs", "-f") as running:
        while "waits for the first" not in running.errors():
            assert running.process.poll() is None
            time.sleep(0.005)
        write(zot.home / "logs", ("guard", "one\n", 0))
        line = lambda: running._read_line(time.monotonic() + PATIENCE_S)  # noqa: E731
        assert line() == b"guard  one\n"
        write(zot.home / "logs", ("clock", "two\n", 1))
        assert line() == b"clock  two\n"
        running.signal(signal.SIGINT)
        assert running.finish().status == Status.INTERRUPTED.exit_code


def test_more_logs_than_descriptors(zot, logs):
    for number in range(300):
        (logs / f"ext-e{number}.log").write_text(f"{number}\n")
    limited = ["/bin/sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *zot.command]
    outcome = zot.run("ext", "logs", "-n", "400", "--json", command=limited)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert sorted(int(json.loads(line)["line"]) for line in outcome.stdout.splitlines()) == list(range(300))


def test_a_log_that_is_a_pipe_holds_nothing_up(zot, logs):
    write(logs, ("guard", "one\n", 0))
    os.mkfifo(logs / "ext-pipe.log")
    done = zot.run("ext", "logs")
    assert (done.status, done.text) == (Status.ERROR.exit_code, "guard  one\n")
    assert done.stderr == f"zot ext logs: {logs}/ext-pipe.log cannot be shown: Not a file\n"
    assert zot.run("ext", "logs", "pipe").status == Status.ERROR.exit_code
    (logs / "ext-guard.times").unlink()
    os.mkfifo(logs / "ext-guard.times")
    assert zot.run("ext", "logs", "guard", "--timestamps").text.split() == ["-", "-", "-", "one"]


def test_the_name_of_a_log_may_be_any_bytes(zot, logs):
    for name in (b"\xff", b"a\x1b[31mb"):
        with open(os.fsencode(logs) + b"/ext-" + name + b".log", "wb") as file:
            file.write(b"line\n")
    assert sorted(zot.run("ext", "logs").text.splitlines()) == ["?   line", "ab  line"]
    assert "\x1b" not in zot.run("ext", "logs", "none").refusal()
