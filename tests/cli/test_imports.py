"""What a run imports. The SDK takes 1 s and 77 MB, rich and pydantic 0.1 s each; only runs that use them do."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.replay_script import Script, ok
from tests.support.zot_process import ROOT
from wire.exit_codes import Status

TRACED = [sys.executable, "-X", "importtime", "-m", "pyzot"]
SLOW = {"anthropic", "pydantic", "rich"}


def modules(trace: str) -> set[str]:
    """The modules that `-X importtime` saw."""
    return set(re.findall(r"^import time:[ \d]+\|[ \d]+\| +(\S+)$", trace, re.MULTILINE))


def imported(trace: str) -> set[str]:
    """Their top-level packages."""
    return {name.partition(".")[0] for name in modules(trace)}


@pytest.mark.parametrize("mode", ["--json", "-p"])
def test_a_replayed_run_imports_nothing_slow(zot, mode):
    script = Script(zot.cwd).call(("write", {"path": "made", "content": "x\n"}), results=[ok("x\n")]).answer("Done.")
    cassette = script.write(zot.folder / "cassette.jsonl")
    outcome = zot.run(mode, "--replay", cassette, "go", command=TRACED)
    assert outcome.status == 0, outcome.stderr
    seen = imported(outcome.stderr)
    assert {"msgspec", "typer", "supervisor"} <= seen  # the trace is there
    assert not seen & SLOW


def test_the_host_leaves_the_sdk_to_the_model_worker(zot, server):
    from tests.support.messages_server import text_reply

    server.add(text_reply("Hello"))
    outcome = zot.run("--json", "--base-url", server.base_url, "go", command=TRACED)
    assert outcome.check(Status.OK).result.text == "Hello"
    assert not imported(outcome.stderr) & SLOW


def test_the_version_is_printed_without_loading_the_program():
    done = subprocess.run([*TRACED, "--version"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("zot ")
    assert not imported(done.stderr) & {"agent", "supervisor", "wire", "typer", *SLOW}
    assert {name for name in modules(done.stderr) if name.startswith("cli")} == {"cli", "cli.version"}
