"""Extensions of a project run only when they are trusted: runs, a host, and `zot ext trust`."""

from __future__ import annotations

import json
import os
import select
import stat
import sys
import time
from pathlib import Path

import pytest

from tests.support.host_process import hosting
from tests.support.install_sources import manifest_in
from tests.support.patience import PATIENCE_S
from tests.support.project_extension import put
from tests.support.replay_script import Script
from wire.events import Extension
from wire.exit_codes import Status


@pytest.fixture
def blocker(zot):
    return put(zot, "blocker", "turn_start", "no", name="guard")


def run(zot, *flags: str, status: Status = Status.OK, **popen):
    return zot.replay(Script(zot.cwd).answer("Hi"), "--no-session", *flags, **popen).check(status)


def said(outcome) -> list[str]:
    return [line for line in outcome.warnings if "not trusted" in line]


def reports(outcome) -> list[tuple[str, str, str]]:
    return [(record.extension, record.event, record.message) for record in outcome.of(Extension)]


# --- runs -------------------------------------------------------------------------------------------------------


def test_an_extension_never_seen_is_left_out_loudly(zot, blocker):
    outcome = run(zot)
    reason = "not trusted (never seen): not started; zot ext trust guard, or --trust-project"
    assert said(outcome) == [f"zot: extension guard of this project is {reason}"]
    assert reports(outcome) == [("guard", "failed", reason)]
    assert outcome.records[0].extensions == ()


def test_a_trusted_extension_runs_until_a_file_changes(zot, blocker):
    trusted = zot.run("ext", "trust", "guard")
    assert (trusted.status, trusted.stderr) == (0, "")
    run(zot, status=Status.BLOCKED)
    (blocker / "lib.py").write_text("changed = True\n")
    assert "not trusted (its files have changed): not started; zot ext trust guard" in said(run(zot))[0]
    assert zot.run("ext", "trust", "guard").status == 0
    assert said(run(zot, status=Status.BLOCKED)) == []


def test_no_extension_of_an_untrusted_project_is_asked_for_the_system_prompt(zot):
    """Once it is trusted it is; the recording, made without it, then differs, and the message says why."""
    asked = zot.folder / "asked"
    put(zot, "prompter", "You are mine.", str(asked), name="house")
    run(zot)
    assert not asked.exists()
    assert zot.run("ext", "trust", "house").status == 0
    outcome = run(zot, status=Status.ERROR)
    (question,) = [json.loads(line) for line in asked.read_text().splitlines()]
    before = len(question["system_prompt"])
    line = f"replaced the system prompt (13 characters, {before:,} before)"
    assert f"zot: extension house: {line}" in outcome.stderr.splitlines()
    assert ("house", "system_prompt", line) in reports(outcome)
    assert outcome.result.reason.splitlines()[1] == "system[0].text"
    assert outcome.result.reason.splitlines()[-1] == (
        "an extension has replaced the system prompt: run without it (--no-ext), or record with it"
    )


WRITES_ITS_STATE = """
import pathlib, runpy, sys
pathlib.Path("run.log").open("a").write("started\\n")
pathlib.Path("todos.json").write_text("[1]")
sys.argv[:] = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def keeping_state(folder: Path, **fields: object) -> None:
    """Makes the extension write a log and its state into its own folder, before its hello."""
    made = manifest_in(folder)
    (folder / "main.py").write_text(WRITES_ITS_STATE)
    (folder / "extension.json").write_text(
        json.dumps({**made, "args": ["-I", "-S", "main.py", *made["args"][2:]], **fields})
    )


def test_an_extension_may_write_what_its_manifest_calls_data(zot, blocker):
    keeping_state(blocker, data=["todos.json", "*.log"])
    shown = zot.run("ext", "trust", "guard")
    assert shown.status == 0
    assert "data    not checked: todos.json, *.log in its folder" in shown.text
    for _ in range(3):
        assert said(run(zot, status=Status.BLOCKED)) == []
    assert (blocker / "run.log").read_text() == "started\n" * 3
    (blocker / "package.json").write_text("{}")
    assert "not trusted (its files have changed)" in said(run(zot))[0]


def test_without_data_the_state_that_it_writes_ends_the_trust_and_the_way_out_is_told(zot, blocker):
    keeping_state(blocker)
    zot.run("ext", "trust", "guard")
    assert said(run(zot, status=Status.BLOCKED)) == []  # files that are new at the hello are no change of hashed ones
    assert "not trusted (its files have changed)" in said(run(zot))[0]
    advice = 'if it writes these files itself, its extension.json may say "data": ["run.log","todos.json"]'
    (report,) = zot.run("ext", "doctor", "guard", "--json").json_lines
    assert [(each["topic"], each["advice"]) for each in report["findings"]] == [("data", advice)]
    line = f"zot ext test: guard is no longer trusted (its files have changed); {advice}"
    assert line in zot.run("ext", "test", blocker).stderr.splitlines()
    shown = zot.run("ext", "trust").text
    assert "changed run.log (new), todos.json (new)" in shown
    assert advice in shown
    (blocker / "lib.py").write_text("")
    assert '"data"' not in zot.run("ext", "doctor", "guard").text + zot.run("ext", "trust").text


def test_trust_project_is_for_one_run(zot, blocker):
    run(zot, "--trust-project", status=Status.BLOCKED)
    assert not (zot.home / "trust.json").exists()
    assert len(said(run(zot))) == 1


def test_with_strict_guards_an_untrusted_extension_blocks_the_run(zot, blocker):
    outcome = run(zot, "--strict-guards", status=Status.BLOCKED)
    assert outcome.result.reason.startswith("with strict guards every extension must load; guard: not trusted")


def test_a_required_extension_that_is_not_trusted_fails_the_run(zot):
    put(zot, "echo", required=True)
    outcome = run(zot, status=Status.REQUIRED_EXTENSION)
    assert outcome.result.reason.startswith("extension echo is required and not trusted (never seen)")
    outcome = zot.run("host")
    assert outcome.status == Status.REQUIRED_EXTENSION.exit_code
    assert "extension echo of this project is not trusted (never seen)" in outcome.stderr


def test_a_host_starts_trusted_extensions_and_names_the_others(zot):
    put(zot, "echo")
    put(zot, "env_dump")
    zot.run("ext", "trust", "echo")
    with hosting(zot) as host:
        assert set(host.stats()) == {"echo"}
        assert "extension env_dump of this project is not trusted" in host.running.errors()
    with hosting(zot, flags=("--trust-project",)) as host:
        assert set(host.stats()) == {"echo", "env_dump"}


def test_the_data_folder_of_an_extension_is_private(zot):
    put(zot, "recorder", str(zot.folder / "seen"), parent=zot.home / "extensions")
    run(zot)
    told = Path(json.loads((zot.folder / "seen").read_text().splitlines()[0])["data_dir"])
    assert told == zot.home / "data" / "recorder"
    assert stat.S_IMODE(told.stat().st_mode) == 0o700


# --- the question -------------------------------------------------------------------------------------------------

TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Asked:
    """`zot -p`, or a command of these words, on a terminal of its own: what it says there, and the answers."""

    def __init__(self, zot, *words: str) -> None:
        self._master, terminal = os.openpty()
        if not words:
            cassette = Script(zot.cwd).answer("Hi").write(zot.folder / "cassette.jsonl")
            words = ("-p", "--no-session", "--replay", cassette, "go")
        command = [sys.executable, "-c", TAKE_TERMINAL, *zot.command]
        self.running = zot.start(*words, command=command, stdin=terminal, stderr=terminal, start_new_session=True)
        os.close(terminal)
        self.shown = ""

    def wait_for(self, text: str) -> str:
        """Output up to this text, from where the last wait ended."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.shown:
            assert select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))[0], self.shown
            self.shown += os.read(self._master, 65_536).decode()
        before, self.shown = self.shown.split(text, 1)
        return before + text

    def answer(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self) -> tuple[int, str]:
        """The exit status and the rest of the output."""
        try:
            while data := os.read(self._master, 65_536):
                self.shown += data.decode()
        except OSError:
            pass  # Linux reports the closed terminal this way
        os.close(self._master)
        with self.running:
            return self.running.finish().status, self.shown


def test_a_terminal_is_asked_and_a_yes_is_remembered(zot, blocker):
    asked = Asked(zot)
    question = asked.wait_for("[s]how its files: ")
    assert "not trusted (never seen)" in question
    assert f"folder  {blocker} (" in question
    asked.answer("s\n")
    assert "extension.json" in asked.wait_for("[s]how its files: ")
    asked.answer("y\n")
    status, rest = asked.end()
    assert (status, "not trusted" in rest) == (Status.BLOCKED.exit_code, False)
    run(zot, status=Status.BLOCKED)


def test_the_end_of_input_is_a_no(zot, blocker):
    asked = Asked(zot)
    asked.wait_for("[s]how its files: ")
    asked.answer("\x04")
    status, rest = asked.end()
    assert status == 0
    assert "extension guard of this project is not trusted (never seen)" in rest
    assert not (zot.home / "trust.json").exists()


def test_all_of_several_are_trusted_with_one_answer(zot, blocker):
    put(zot, "echo", env=["OPENAI_API_KEY"])
    asked = Asked(zot)
    asked.wait_for("asks    for OPENAI_API_KEY")
    asked.wait_for("[s]how its files: ")
    asked.answer("a\n")
    status, rest = asked.end()
    assert (status, "guard" in rest) == (Status.BLOCKED.exit_code, True)
    assert rest.count("[s]how") == 0


def test_ctrl_c_at_the_question_ends_the_run(zot, blocker):
    asked = Asked(zot)
    asked.wait_for("[s]how its files: ")
    asked.answer("\x03")
    assert asked.end()[0] == Status.INTERRUPTED.exit_code
    assert not (zot.home / "trust.json").exists()


def test_the_command_alone_asks_about_each_that_waits(zot, blocker):
    put(zot, "echo")
    asked = Asked(zot, "ext", "trust")
    asked.wait_for("[s]how its files: ")
    asked.answer("\n")
    assert "echo is not trusted" in asked.wait_for("[s]how its files: ")
    asked.answer("y\n")
    status, _ = asked.end()
    assert status == 1, "one still waits"
    standing = {row["name"]: row["standing"] for row in zot.run("ext", "trust", "--list", "--json").json_lines}
    assert standing == {"echo": "never seen", "guard": "trusted"}
