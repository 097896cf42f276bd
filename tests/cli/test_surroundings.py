"""Odd surroundings: packages with our names, odd folder names, a home that is missing or read-only."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.extension_folder import extension
from tests.support.replay_script import Script, ok
from tests.support.zot_process import ROOT
from wire.exit_codes import Status

CONSOLE_SCRIPT = Path(sys.executable).with_name("zot")
SHADOWING = "raise SystemExit('the package of the user was imported')\n"


@pytest.fixture
def namesakes(zot):
    """A project with the names of our packages, of our workers' modules, and of the modules that these import."""
    for name in ("agent", "cli", "wire", "supervisor"):
        (zot.cwd / name).mkdir()
        (zot.cwd / name / "__init__.py").write_text(SHADOWING)
    for name in ("failure", "reply", "request", "read", "write", "anthropic"):
        (zot.cwd / f"{name}.py").write_text(SHADOWING)
    return zot


@pytest.mark.parametrize(("entry", "path"), [("module", "."), ("script", "{cwd}")])
def test_packages_of_the_project_with_our_names_are_not_imported(namesakes, entry, path):
    zot = namesakes
    if entry == "script" and not CONSOLE_SCRIPT.exists():
        pytest.skip("not installed")
    (zot.cwd / "anthropic.py").unlink()
    command = [str(CONSOLE_SCRIPT)] if entry == "script" else [sys.executable, "-m", "pyzot"]
    search = path.format(cwd=zot.cwd) + (f":{ROOT}" if entry == "module" else "")
    script = Script(zot.cwd).call(("write", {"path": "made", "content": "x\n"}), results=[ok("x\n")]).answer("Done.")
    outcome = zot.replay(script, command=command, env={"PYTHONPATH": search})
    assert "of the user was imported" not in outcome.stderr
    outcome.check(Status.OK)


@pytest.mark.slow
def test_packages_of_the_project_do_not_disturb_the_model_worker(namesakes, server):
    from tests.support.messages_server import text_reply

    server.add(text_reply("Hello"))
    zot = namesakes
    outcome = zot.run("--json", "--base-url", server.base_url, "go", env={"PYTHONPATH": f".:{ROOT}"})
    assert outcome.check(Status.OK).result.text == "Hello"


@pytest.mark.parametrize("name", ["-dash and spaces", "ünï-☃\nnew line", "$(touch made)'\"quotes"])
def test_odd_names_of_the_project_folder_work(zot, name):
    cwd = zot.folder / name
    cwd.mkdir()
    (cwd / ".zot" / "extensions").mkdir(parents=True)
    made = extension(zot.folder, "echo")
    shutil.move(made, cwd / ".zot" / "extensions" / "echo")
    script = Script(cwd, extra={"echo": "Returns its text."}).call(
        ("bash", {"command": "pwd"}),
        ("write", {"path": "a", "content": "x\n"}),
        ("echo", {"text": "hi"}),
        results=[ok(f"$ pwd\n\n{cwd}\n\n[exit 0]  Took 0.0s"), ok("x\n"), ok("hi")],
    )
    outcome = zot.replay(script.answer("Done."), "--cwd", cwd, "--trust-project").check(Status.OK)
    assert (cwd / "a").read_text() == "x\n"
    assert outcome.records[0].cwd == str(cwd)
    assert zot.session_rows()[0]["meta"]["cwd"] == str(cwd)


def test_cwd_is_where_tools_work_and_extensions_are_found(zot):
    elsewhere = zot.folder / "elsewhere"
    elsewhere.mkdir()
    flags = zot.replay_flags(Script(zot.cwd).call(("bash", {"command": "echo > here"})))
    zot.run(*flags, "--cwd", "../project", "--max-steps", "1", "go", cwd=elsewhere).check(Status.MAX_STEPS)
    assert (zot.cwd / "here").exists()
    assert os.listdir(elsewhere) == []


@pytest.mark.parametrize("home", ["below a file", "/proc/nowhere"])
def test_a_home_that_cannot_be_made_costs_only_its_files(zot, home):
    (zot.folder / "file").write_text("")
    path = zot.folder / "file" / "home" if home == "below a file" else home
    ext = extension(zot.folder, "echo")
    script = Script(zot.cwd, extra={"echo": "Returns its text."}).call(("echo", {"text": "hi"}), results=[ok("hi")])
    outcome = zot.replay(script.answer("Done."), "-e", ext, env={"ZOT_HOME": str(path)}).check(Status.OK)
    (line,) = [line for line in outcome.warnings if "session" in line]
    assert line.startswith("zot: the session is no longer recorded: ")
    assert str(path) in line


def test_without_home_in_the_environment(zot):
    flags = zot.replay_flags(Script(zot.cwd).answer("Done."))
    env = {name: value for name, value in zot.env.items() if name not in ("HOME", "ZOT_HOME")}
    zot.env = env
    outcome = zot.run(*flags, "--no-session", "go").check(Status.OK)
    assert outcome.stderr == ""


def test_the_default_home_follows_xdg(zot):
    state = zot.folder / "state"
    script = zot.replay_flags(Script(zot.cwd).answer("Done."))
    del zot.env["ZOT_HOME"]
    zot.run(*script, "go", env={"XDG_STATE_HOME": str(state)}).check(Status.OK)
    if sys.platform == "linux":
        assert list((state / "zot" / "sessions").glob("*/*.jsonl"))


@pytest.mark.parametrize(("variable", "command"), [("HOME", ["host"]), ("ZOT_HOME", ["-p", "go"])])
def test_a_home_that_is_not_utf8_is_one_line(zot, variable, command):
    """Extensions are told where their data lies, in JSON. No file is made below such a home."""
    odd = os.fsencode(zot.folder) + b"/home-\xff"
    zot.env = {name: value for name, value in zot.env.items() if name not in ("HOME", "ZOT_HOME")}
    outcome = zot.run(*command, env={variable: os.fsdecode(odd)})
    assert (outcome.status, outcome.stdout, len(outcome.warnings)) == (Status.USAGE.exit_code, b"", 1), outcome
    assert "not valid UTF-8" in outcome.stderr
    assert not os.path.exists(odd)
