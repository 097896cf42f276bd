"""The faulty servers have their fault, are sound otherwise, and each is in the table."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.conversation import Conversation
from tests.support.patience import PATIENCE_S

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
PROGRAM = [sys.executable, "-S", str(HERE / "faulty.py")]
FAULTS = re.findall(r"^\| `([\w-]+)` \|", HERE.joinpath("README.md").read_text(), re.MULTILINE)
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
REQUESTS = [
    {"id": 1, "method": "initialize", "params": HELLO},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list", "params": {}},
    {"id": 3, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "here"}}},
]
ENDS = {"dies-at-import": 1, "usage": 2, "exits-at-start": 0}
"""Exit statuses of those that do not live to read."""
NO_END = {
    "endless-line", "reads-nothing", "ignores-eof", "outlives-eof", "ignores-all", "floods-deaf", "closes-stdout",
    "has-family",
}  # fmt: skip
"""Those that do not end with their input, or not with status 0, or leave something behind."""
NO_ECHO = {
    "never-answers", "content-length-waits", "silent", "progress-for-ever", "asks-all", "endless-rounds",
    "other-future", "pretty", *ENDS,
}  # fmt: skip
"""Those that do not answer a call of `echo` with its text on one line."""


def test_the_table_has_every_fault():
    told = subprocess.run(PROGRAM, capture_output=True, text=True).stderr
    assert set(told.removeprefix("one of: ").strip().split(", ")) == set(FAULTS)


def begun(child: Conversation) -> None:
    for request in REQUESTS:
        child.send_bytes(json.dumps({"jsonrpc": "2.0", **request}).encode() + b"\n")


@pytest.mark.parametrize("fault", sorted(set(FAULTS) - NO_END))
def test_it_answers_and_ends_with_its_input(fault):
    lines = b"".join(json.dumps({"jsonrpc": "2.0", **request}).encode() + b"\n" for request in REQUESTS)
    done = subprocess.run([*PROGRAM, fault], input=lines, capture_output=True)
    assert done.returncode == ENDS.get(fault, 0), done.stderr
    answer = b"strange-tools" if fault == "strange-tools" else b'"text": "here"'
    assert fault in NO_ECHO or answer in done.stdout or b'"text": "echo"' in done.stdout or fault == "null-id-error"


def test_the_family_outlives_its_server(tmp_path):
    with Conversation(*PROGRAM, "has-family", tmp_path / "pid") as child:
        begun(child)
        while b"here" not in child.line():
            pass
        browser = psutil.Process(int((tmp_path / "pid").read_text()))
        child.close_stdin()
        assert child.exit_code() == 0
        assert browser.name() == "sleep"
        browser.kill()


@pytest.mark.parametrize("fault", ["reads-nothing", "ignores-eof", "outlives-eof", "floods-deaf"])
def test_it_lives_on_after_the_end_of_its_input(fault):
    with Conversation(*PROGRAM, fault) as child:
        begun(child)
        while b'"tools"' not in child.line():
            pass
        child.close_stdin()
        with pytest.raises(subprocess.TimeoutExpired):
            child.process.wait(0.3)
        child.process.terminate()
        assert child.exit_code() == -signal.SIGTERM


def test_it_lives_on_after_sigterm():
    with Conversation(*PROGRAM, "ignores-all") as child:
        begun(child)
        while b"here" not in child.line():
            pass
        child.process.terminate()
        child.close_stdin()
        with pytest.raises(subprocess.TimeoutExpired):
            child.process.wait(0.3)


def test_the_launcher_dies_alone_of_sigterm():
    with Conversation("/bin/sh", HERE / "launcher.sh", sys.executable, "-S", HERE / "reference.py") as child:
        begun(child)
        while b"here" not in child.line():
            pass
        (server,) = psutil.Process(child.process.pid).children()
        child.process.terminate()
        assert child.exit_code() == -signal.SIGTERM
        child.send_bytes(json.dumps({"jsonrpc": "2.0", **REQUESTS[3], "id": 4}).encode() + b"\n")
        assert json.loads(child.line())["id"] == 4, "it still answers"
        server.kill()
        psutil.wait_procs([server], timeout=PATIENCE_S)
