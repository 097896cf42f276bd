"""Runtimes whose model answers from a cassette. In this process an engine comes from a template; programs that embed a
runtime (`program`) start the command itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from pyzot import AsyncRuntime, Runtime
from pyzot.connection import engine_process
from pyzot.connection.command_line import default_program
from tests.support import warm_start
from tests.support.replay_script import Script
from tests.support.zot_process import ROOT


@pytest.fixture(autouse=True)
def warm_engines(monkeypatch):
    """Of this Python, that is: a program that a test names is started as it is."""
    own = default_program()
    env = {warm_start.MARK: "0" * 32, "PYTHONPATH": str(ROOT)}

    def start(command, **popen):
        if command[:2] != own:
            return subprocess.Popen(command, **popen)
        popen |= {"env": {**popen["env"], **env}, "cwd": popen.get("cwd") or os.getcwd()}
        return warm_start.start([*warm_start.COMMAND, *command[2:]], **popen)

    monkeypatch.setattr(engine_process, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": start}))


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def options(tmp_path, project):
    """Of an engine whose model answers `Done.` to the prompt `go`."""
    cassette = Script(project).answer("Done.").write(tmp_path / "cassette.jsonl")
    return {"replay": cassette, "cwd": project, "env": {"ZOT_HOME": str(tmp_path / "home")}}


@pytest.fixture
def start(options):
    """Starts a runtime. All are closed after the test."""
    made = []

    def begin(**more):
        made.append(Runtime(**{**options, **more}))
        return made[-1]

    yield begin
    for runtime in made:
        runtime.close()


@pytest.fixture
def start_async(options):
    """Makes an `AsyncRuntime`; the test closes it."""
    return lambda **more: AsyncRuntime(**{**options, **more})


@pytest.fixture
def fake_async():
    """Makes an `AsyncRuntime` with `fake_engine.py`; the test closes it."""
    return lambda behaviour="works", **more: AsyncRuntime(program=fake_engine(behaviour), **more)


@pytest.fixture
def fake():
    """Starts a runtime with `fake_engine.py`; the word says how it misbehaves. All are closed after the test."""
    made = []

    def begin(behaviour="works", **more):
        made.append(Runtime(program=fake_engine(behaviour), **more))
        return made[-1]

    yield begin
    for runtime in made:
        runtime.close()


def fake_engine(behaviour="works"):
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name("fake_engine.py")), behaviour]


def program(code, *arguments, **popen):
    """Runs a program that embeds a runtime."""
    head = "import os, signal, sys, threading, time, gc, warnings\nfrom pyzot import *\nfake = sys.argv[1:6]\n"
    argv = [sys.executable, "-X", "faulthandler", "-c", head + code, *fake_engine("works"), *map(str, arguments)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, **popen)
    assert done.stderr == "", done.stderr
    return done


def is_gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
