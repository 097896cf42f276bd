"""`zot demo` in a pipe, as JSON, on a real terminal, and without node."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from agent.demo import CASSETTE
from tests.support import warm_start
from tests.support.no_child_left import no_child_left
from tests.support.patience import PATIENCE_S
from wire import events

ROOT = Path(__file__).parents[2]
ZOT = [sys.executable, "-m", "pyzot"]
NODE = shutil.which("node")


def environment(**changes: str) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if name not in ("ANTHROPIC_API_KEY", "NO_COLOR", "COLUMNS")
    }
    return {**kept, "PYTHONPATH": str(ROOT), **changes}


def run(*arguments: str, cwd: Path = ROOT, **changes: str) -> subprocess.CompletedProcess[str]:
    process = warm_start.start(
        [*ZOT, *arguments],
        cwd=cwd,
        env=environment(**{warm_start.MARK: uuid.uuid4().hex, **changes}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            out, err = process.communicate()
        finally:
            process.kill()
    return subprocess.CompletedProcess(arguments, process.returncode, out.decode(), err.decode())


def test_in_a_pipe_the_demo_tells_what_happened_and_what_it_cost() -> None:
    shown = run("demo", GITHUB_TOKEN="v-1")
    assert shown.returncode == 0, shown.stderr
    assert "GITHUB_TOKEN" not in shown.stderr, "the demo tells nothing of secrets that its extensions did not get"
    assert "\x1b" not in shown.stdout
    assert "rm -rf build  ->  guard: refused by rule `rm -rf`" in shown.stdout
    assert shown.stdout.count("refused by rule") == 1
    assert "zot: guard refused bash: " in shown.stderr
    assert "todo_count    prices.py  ->  lines with TODO or FIXME in prices.py: 2" in shown.stdout
    assert "[redacted:aws-key-id]" in shown.stdout
    assert "AKIA" not in shown.stdout.replace("aws-key-id", "")
    for name in ("guard", "redactor", "todo-count"):
        assert re.search(rf"^{name} +\d+ +[\d.]+ MiB +\d+/\d+ ", shown.stdout, flags=re.MULTILINE), name
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert shown.stdout.endswith("\nAs a page of charts: zot demo --stats demo.jsonl && zot report demo.jsonl\n")
    assert "[redactor] warn: redacted 1 secret" in shown.stderr


def test_with_json_the_demo_is_the_event_stream_of_the_same_run(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shown = run("demo", "--json", "--stats", "my demo.jsonl", cwd=tmp_path, ZOT_HOME=str(home))
    assert shown.returncode == 0
    records = [events.decode(line.encode()) for line in shown.stdout.splitlines()]
    assert isinstance(records[0], events.Session)
    assert isinstance(records[-1], events.Done)
    result = records[-2]
    assert isinstance(result, events.Result)
    assert result.status == "ok"
    assert result.extensions["guard"].blocks == 1
    assert result.extensions["todo-count"].calls == 1
    assert all(cost.exit_status == "exit 0" for cost in result.extensions.values())
    answers = [record for record in records if isinstance(record, events.AssistantMessage)]
    assert "AKIAIOSFODNN7EXAMPLE" not in str(answers)
    assert not home.exists(), "the user's own home is not touched"
    command = shown.stderr.splitlines()[-1].partition("charts: ")[2]
    assert command == "zot report 'my demo.jsonl'"
    assert run(*shlex.split(command)[1:], cwd=tmp_path).returncode == 0
    assert "todo-count" in (tmp_path / "my demo.html").read_text(encoding="utf-8")


def test_a_stats_file_that_cannot_be_written_is_refused_before_the_run(tmp_path: Path) -> None:
    shown = run("demo", "--stats", str(tmp_path / "nowhere" / "x"))
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.startswith("zot demo: --stats ")


def test_without_node_the_demo_leaves_an_extension_out_and_on_a_narrow_screen_columns_give_way(tmp_path: Path) -> None:
    for program in ("python3", "sh", "env", "sed", "grep", "cat", "rm", "dirname", "basename", "awk", "wc", "tr"):
        if found := shutil.which(program):
            (tmp_path / program).symlink_to(Path(found).resolve() if program == "python3" else found)
    (tmp_path / "python3").unlink()
    (tmp_path / "python3").symlink_to(sys.executable)
    shown = run("demo", "--stats", "run.jsonl", cwd=tmp_path, PATH=str(tmp_path), COLUMNS="60")
    assert shown.returncode == 0, shown.stderr
    assert "without turn-meter, which needs node" in shown.stderr
    assert "guard: refused" in shown.stdout
    table = shown.stdout.partition("Cost of each extension\n")[2].split("\n\n")[0].splitlines()
    assert max(map(len, table)) <= 60
    assert {line.split()[0] for line in table} >= {"extension", "guard", "redactor", "todo-count"}
    assert shown.stdout.splitlines()[-1].endswith("charts: zot report run.jsonl")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_on_a_terminal_the_demo_is_coloured_and_fits(tmp_path: Path) -> None:
    socket = ["tmux", "-S", str(tmp_path / "tmux")]
    done = tmp_path / "done"
    command = f"{sys.executable} -m pyzot demo; touch {done}; exec sleep 600"
    with no_child_left():  # the server tells the program of its end, and does not wait for it
        subprocess.run(
            [*socket, "-f", "/dev/null", "new-session", "-d", "-x", "90", "-y", "60", command],
            env=environment(TERM="xterm-256color"), cwd=ROOT, check=True,
        )  # fmt: skip
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not done.exists():
                assert time.monotonic() < deadline, screen(socket)
            plain, styled = screen(socket), screen(socket, "-e")
        finally:
            subprocess.run([*socket, "kill-server"], check=True)
    assert "Cost of each extension" in plain
    assert "guard: refused by rule" in plain
    assert "\x1b[" in styled
    assert max(map(len, plain.splitlines())) <= 90


def screen(socket: list[str], *flags: str) -> str:
    return subprocess.run([*socket, "capture-pane", "-p", *flags], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(NODE is None, reason="needs node: the recording is of all four extensions")
def test_the_cassette_is_what_a_fresh_recording_gives(tmp_path: Path) -> None:
    fresh = tmp_path / "fresh.jsonl"
    subprocess.run(
        [sys.executable, "-m", "tests.record_demo", str(fresh)],
        cwd=ROOT,
        env=environment(),
        check=True,
    )
    committed = [json.loads(line) for line in CASSETTE.read_text(encoding="utf-8").splitlines()]
    recorded = [json.loads(line) for line in fresh.read_text(encoding="utf-8").splitlines()]
    assert recorded == committed
