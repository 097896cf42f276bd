"""Somebody writes to an extension of a project while it is checked and started: what starts is what was trusted."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from supervisor.discovery.admission import Admission, Consent
from supervisor.discovery.discover import discover, read_manifest
from supervisor.discovery.trust_store import TrustStore
from supervisor.extension.lifecycle import WorkerState
from tests.support.host import PRELUDE, QUICK, SOON, Host
from tests.support.install_sources import manifest_in
from tests.support.project_extension import put
from tests.support.replay_script import Script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from supervisor.discovery.found_extension import FoundExtension

FLIPPER = """
import os, sys
path, new, good, evil = sys.argv[1:]
print("it begins", flush=True)
while os.getppid() != 1:
    for content in (evil, good):
        with open(new, "w") as file:
            file.write(content)
        os.rename(new, path)
"""


@contextmanager
def flipping(path: Path, evil: str, beside: Path) -> Iterator[None]:
    """Meanwhile a program replaces the file by another and back, as fast as it can. It prepares them in `beside`."""
    words = [sys.executable, "-I", "-S", "-c", FLIPPER, path, beside / "new", path.read_text(), evil]
    flipper = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert flipper.stdout is not None
    try:
        assert flipper.stdout.readline()
        yield
    finally:
        flipper.kill()
        flipper.communicate()


def trusted(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / ".zot" / "extensions" / "guard"
    folder.mkdir(parents=True)
    (folder / "extension.json").write_text(json.dumps({"name": "guard", "exec": "./good"}))
    TrustStore(tmp_path / "home").trust(folder, read_manifest(folder))
    return folder


def found(tmp_path: Path) -> tuple[FoundExtension, ...]:
    """The extensions that a run of the project starts."""
    home = tmp_path / "home"
    return discover((), tmp_path / "project", home, Admission(home, Consent()).for_one_start()).found


def test_a_manifest_that_changes_all_the_time_is_never_another_than_the_trusted_one(tmp_path):
    folder = trusted(tmp_path)
    with flipping(folder / "extension.json", json.dumps({"name": "guard", "exec": "./evil"}), tmp_path):
        started = [each.manifest.exec for _ in range(100) for each in found(tmp_path)]
    assert set(started) <= {"./good"}
    assert [each.manifest.exec for each in found(tmp_path)] in (["./good"], [])


CHANGES_ITSELF = """
open("rules.py", "a").close()
os.utime("rules.py")
hello("x")
send(type="ready")
time.sleep(600)
"""


@pytest.mark.parametrize("when", ["before the start", "before the hello"])
def test_files_that_change_between_the_check_and_the_hello_end_the_start(tmp_path, when):
    folder = trusted(tmp_path)
    code = PRELUDE + (CHANGES_ITSELF if when == "before the hello" else "sys.exit(0)")
    (folder / "rules.py").write_text("")
    (folder / "x.py").write_text(code)
    manifest = {"name": "guard", "exec": sys.executable, "args": ["-I", "-S", "x.py"], "timeouts": QUICK}
    (folder / "extension.json").write_text(json.dumps(manifest))
    TrustStore(tmp_path / "home").trust(folder, read_manifest(folder))
    with Host(tmp_path) as host:
        host.found += found(tmp_path)
        if when == "before the start":
            (folder / "rules.py").write_text("new")
        host.start()
        assert host.state("guard") is WorkerState.FAILED
        ((kind, said),) = host.said_of("guard")
        assert kind == "failed"
        assert f"{folder}/rules.py has changed since it was checked" in said
        assert "starting guard again" not in host.log("guard")


def test_what_is_started_again_after_a_crash_is_the_manifest_that_was_checked(tmp_path):
    folder = trusted(tmp_path)
    good = {"name": "guard", "exec": sys.executable, "args": ["-I", "-S", "x.py"], "timeouts": QUICK, "restart": SOON}
    (folder / "x.py").write_text(f"{PRELUDE}hello('x')\nsend(type='ready')\nfor frame in frames(): sys.exit(1)\n")
    (folder / "extension.json").write_text(json.dumps(good))
    TrustStore(tmp_path / "home").trust(folder, read_manifest(folder))
    with Host(tmp_path) as host:
        host.found += found(tmp_path)
        host.start()
        evil = {**good, "exec": "/bin/sh", "args": ["-c", f"touch '{tmp_path}/evil'"]}
        (folder / "extension.json").write_text(json.dumps(evil))
        host.call("x")
        host.until(lambda: host.is_restarted("guard"))
        host.call("x")
        host.until(lambda: host.is_restarted("guard", 2))
    assert not (tmp_path / "evil").exists()


@pytest.mark.slow
def test_no_start_runs_a_command_that_was_not_trusted(zot):
    folder = put(zot, "echo", name="guard")
    assert zot.run("ext", "trust", "guard").status == 0
    mark = zot.folder / "evil"
    evil = {**manifest_in(folder), "exec": "/bin/sh", "args": ["-c", f"touch '{mark}'"]}
    cassette = Script(zot.cwd).answer("Hi")
    with flipping(folder / "extension.json", json.dumps(evil), zot.folder):
        for _ in range(15):
            zot.replay(cassette, "--no-session")
    assert not mark.exists()
