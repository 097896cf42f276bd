"""`zot ps`, `top` and `ext` with a real host; the live screen in a real terminal (tmux)."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from cli.version import VERSION
from supervisor.extension import log as logs
from tests.support.extension_folder import extension
from tests.support.host_process import Hosted, hosting
from tests.support.patience import PATIENCE_S
from tests.support.terminal import open_terminal
from tests.support.zot_process import wait_until
from wire import stats

if TYPE_CHECKING:
    from pathlib import Path

NO_RESTART = {"restart": {"policy": "temporary"}}


@pytest.fixture
def host(zot):
    made = [extension(zot.folder, "echo"), extension(zot.folder, "exits_before_hello", **NO_RESTART)]
    with hosting(zot, *made) as running:
        yield running


def test_ps(host):
    zot = host.zot
    heading, line = zot.run("ps").text.splitlines()
    assert heading.split() == ["PID", "KIND", "UP", "CPU%", "RSS", "EXTENSIONS", "FOLDER"]
    assert line.split()[:2] == [str(host.pid), "host"]
    assert line.endswith(f"1 ready, 1 failed  {zot.cwd}")
    record = json.loads(zot.run("ps", "--json").stdout)
    assert (record["pid"], record["states"], record["cwd"]) == (host.pid, {"ready": 1, "failed": 1}, str(zot.cwd))
    assert (record["socket"], record["version"]) == (str(host.socket), VERSION)
    assert 0 <= time.time() - record["started"] < 3600


def test_ps_without_a_host(zot):
    zot.env.pop("XDG_RUNTIME_DIR", None)
    outcome = zot.run("ps")
    assert (outcome.status, outcome.stdout) == (0, b"")
    assert "no host is running" in outcome.stderr
    assert zot.run("ps", "--json").stdout == b""


def test_a_host_that_does_not_answer_does_not_hold_up_the_others(host):
    with host.zot.start("host", "--no-ext") as running:
        stopped = Hosted(host.zot, running)
        stopped.client.close()
        running.signal(signal.SIGSTOP)
        rows = [json.loads(line) for line in host.zot.run("ps", "--json").stdout.splitlines()]
        assert {row["pid"]: "error" in row for row in rows} == {host.pid: False, running.pid: True}
        running.signal(signal.SIGCONT)
        running.signal(signal.SIGTERM)
        assert running.finish().status == 0


def test_top_off_a_terminal_prints_one_table(host):
    outcome = host.zot.run("top")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert "\x1b" not in outcome.text
    lines = outcome.text.splitlines()
    assert lines[0].startswith(f"zot host {host.pid}")
    assert lines[1].startswith("2 extensions  1 ready  1 failed")
    assert lines[3].split()[0] == "NAME"
    assert lines[4].split()[:2] == ["echo", "ready"]
    assert lines[5].split()[:2] == ["exits_before_hello", "failed"]
    assert lines[5].endswith('it exited before its hello (exit 3): "exits_before_hello: cannot find my configuration"')
    assert len(lines) == 6


def test_top_with_json_is_one_sample(host):
    outcome = host.zot.run("top", str(host.pid), "--once", "--json")
    (line,) = outcome.stdout.splitlines()
    found = stats.decode(line)
    assert (found.host.pid, set(found.extensions)) == (host.pid, {"echo", "exits_before_hello"})
    filtered = stats.decode(host.zot.run("top", "--json", "--filter", "ech").stdout)
    assert set(filtered.extensions) == {"echo"}


def test_ext_stats(host):
    host.call("echo", "hi")
    outcome = host.zot.run("ext", "stats", "echo")
    assert outcome.text.startswith(f"echo, of host {host.pid}\n\nstate       ready\n")
    assert re.search(r"^calls       1, 0 pending, 0 errors", outcome.text, re.MULTILINE)
    assert re.search(r"^  under .*ms  #{40}  1$", outcome.text, re.MULTILINE)
    record = json.loads(host.zot.run("ext", "stats", "echo", "--json", "--host", str(host.pid)).stdout)
    assert (record["name"], record["host"], record["calls"]) == ("echo", host.pid, 1)


def test_a_reader_that_leaves_ends_the_command_quietly(host):
    read, write = os.pipe()
    os.close(read)
    with host.zot.start("ext", "stats", "echo", stdout=write) as running:
        os.close(write)
        assert running.finish().status != 0
        assert "Traceback" not in running.errors()


# --- logs ------------------------------------------------------------------------------------------------------


@pytest.fixture
def log(zot) -> Path:
    path = zot.home / "logs" / "ext-one.log"
    path.parent.mkdir(parents=True)
    return path


def test_following_ends_with_its_reader(zot, log):
    log.write_text("x\n")
    read, write = os.pipe()
    with zot.start("ext", "logs", "one", "-f", stdout=write) as running:
        os.close(write)
        assert os.read(read, 100) == b"x\n"
        os.close(read)
        assert running.finish().status == 130


def test_times_levels_and_since(zot):
    clock = iter([1_800_000_000.0, 1_800_000_060.0, 1_800_003_600.0])
    written = logs.ExtensionLog(zot.home / "logs", "one", clock=lambda: next(clock))
    written.write(b"old\n")
    written.add_frame("warn", "low on disk")
    written.write(b"\x1b[31mnew\n")
    written.close()
    assert zot.run("ext", "logs", "one").text == "old\n[warn] low on disk\nnew\n"
    shown = [line.split(maxsplit=3) for line in zot.run("ext", "logs", "one", "-t", "-n", "2").text.splitlines()]
    own = str(os.getpid())
    assert [line[1:] for line in shown] == [["warn", own, "low on disk"], ["stderr", own, "new"]]
    assert [datetime.fromisoformat(line[0]).timestamp() for line in shown] == [1_800_000_060, 1_800_003_600]
    moment = datetime.fromtimestamp(1_800_000_030, UTC).isoformat()
    assert zot.run("ext", "logs", "one", "--since", moment).stdout == b"[warn] low on disk\nnew\n"
    assert zot.run("ext", "logs", "one", "--since", moment, "-n", "1").stdout == b"new\n"
    records = [json.loads(line) for line in zot.run("ext", "logs", "one", "--json").stdout.splitlines()]
    assert [(record["level"], record["stream"], record["line"]) for record in records] == [
        ("stderr", "stderr", "old"),
        ("warn", "log", "[warn] low on disk"),
        ("stderr", "stderr", "\x1b[31mnew"),
    ]
    assert datetime.fromisoformat(records[0]["time"]).timestamp() == 1_800_000_000
    assert {record["pid"] for record in records} == {os.getpid()}
    assert zot.run("ext", "logs", "one", "--run", own, "-n", "2").stdout == b"[warn] low on disk\nnew\n"
    assert zot.run("ext", "logs", "one", "--run", own, "--since", moment, "-n", "1").stdout == b"new\n"
    assert zot.run("ext", "logs", "one", "--run", "1").stdout == b""
    bad = zot.run("ext", "logs", "one", "--since", "noon")
    assert bad.status == 2
    assert bad.stderr.startswith("zot: --since: 'noon' is neither a length of time (10m, 2h) nor a moment")


def test_following_with_times(zot):
    written = logs.ExtensionLog(zot.home / "logs", "one", 5 * 4096)
    written.write(b"before\n")
    with zot.start("ext", "logs", "one", "-f", "-t", "--since", "1h") as running:
        read = lambda: running._read_line(time.monotonic() + PATIENCE_S).split(maxsplit=3)  # noqa: E731
        assert read()[1:] == [b"stderr", b"%d" % os.getpid(), b"before\n"]
        for number in range(60):
            written.add_frame("error", f"{number} {'x' * 100}")
            for earlier in range(number - 9, number + 1) if number % 10 == 9 else ():
                moment, level, _pid, text = read()
                assert (level, text.split()[0]) == (b"error", b"%d" % earlier)
                assert abs(datetime.fromisoformat(moment.decode()).timestamp() - time.time()) < 600
        running.signal(signal.SIGINT)
        assert running.finish().status == 130
    written.close()


# --- the live screen -------------------------------------------------------------------------------------------


@pytest.fixture
def terminal(host):
    with open_terminal(host.zot) as terminal:
        yield terminal


@pytest.mark.slow
def test_the_live_screen_and_its_keys(host, terminal):
    before = terminal.modes()
    terminal.command(f"{terminal.zot} top --interval 0.1; echo status $?")
    shown = terminal.wait_for(r"q quit").splitlines()
    assert shown[0].startswith(f"zot host {host.pid}")
    assert len(shown) == 24
    assert "BLOCK" not in shown[3]
    terminal.type("/xits")
    terminal.wait_for(r"^filter: xits")
    terminal.keys("Enter")
    filtered = terminal.wait_for(r"^1-1 of 1  by cpu  filter 'xits'")
    assert "it exited before its hello (exit 3)" in filtered
    terminal.keys("Escape")
    terminal.wait_for(r"^1-2 of 2  by cpu ")
    terminal.type("?")
    terminal.wait_for(r"reverse the order")
    terminal.type("x")
    terminal.type("sR")
    terminal.wait_for(r"^1-2 of 2  by rss reversed")
    terminal.resize(170, 40)
    terminal.wait_for(r"^NAME .* BLOCK .* SINCE$")
    terminal.resize(80, 24)
    terminal.wait_for(r"^1-2 of 2  by rss reversed")
    terminal.type("/echo")
    terminal.keys("Enter")
    terminal.wait_for(r"^1-1 of 1 ")
    terminal.keys("Enter")
    terminal.wait_for(r"(?s)\Aecho: ready for .*^log  ")
    terminal.type("l")
    terminal.wait_for(r"T\d\d:\d\d:\d\d\.\d+[+-]\d\d:\d\d +zot +\d+ +starting echo")
    (before_restart,) = host.stats()["echo"].pids
    terminal.type("r")
    asked = terminal.wait_for(r"^restart echo\? y yes, any other key no")
    assert "starting echo" in asked, "what was shown stays"
    terminal.type("n")
    terminal.wait_for(r"^echo  +Esc back")
    terminal.type("ry")
    terminal.wait_for(r"a user asks for a restart")
    wait_until(lambda: host.stats()["echo"].state == "ready" and host.stats()["echo"].pids != (before_restart,))
    terminal.type("q")
    terminal.wait_for(r"q quit$")
    terminal.type("q")
    assert "zot host" not in terminal.wait_for(r"^status 0$")
    assert terminal.modes() == before


@pytest.mark.slow
def test_every_end_of_top_restores_the_terminal(host, terminal):
    before = terminal.modes()
    terminal.command(f"{terminal.zot} top & echo $! > pid; fg; echo status $?")
    terminal.wait_for(r"q quit")
    pid = int((host.zot.cwd / "pid").read_text())
    os.kill(pid, signal.SIGTERM)
    terminal.wait_for(r"^status 130$")
    assert terminal.modes() == before

    terminal.command(f"{terminal.zot} top; echo status $?")
    terminal.wait_for(r"q quit")
    terminal.keys("C-c")
    terminal.wait_for(r"^status 130$")
    assert terminal.modes() == before

    terminal.command(f"{terminal.zot} top; echo status $?")
    terminal.wait_for(r"q quit")
    host.running.signal(signal.SIGTERM)
    assert f"zot top: host {host.pid} has ended" in terminal.wait_for(r"^status 0$")
    assert terminal.modes() == before


@pytest.mark.slow
def test_ctrl_z_restores_the_terminal_and_fg_draws_again(host, terminal):
    before = terminal.modes()
    terminal.command(f"{terminal.zot} top")
    terminal.wait_for(r"q quit")
    terminal.keys("C-z")
    terminal.wait_for(r"Stopped")
    assert terminal.modes() == before
    terminal.command("fg")
    terminal.wait_for(r"q quit")
    terminal.type("q")
    terminal.wait_for(r"^ready>$")
    assert terminal.modes() == before
