"""Copilot extensions in runs and hosts: found, told of, trusted, started. A script stands in for Node and the SDK."""

from __future__ import annotations

import json
import sys

import pytest

from tests.support.copilot_folders import copilot_extension, fake_sdk, write_node
from tests.support.host_process import hosting
from tests.support.replay_script import Script
from wire.events import Extension
from wire.exit_codes import Status

JOIN = r"""
import json, os, sys
with open(sys.argv.pop(1), "a") as log:
    names = ("EXTENSION_PATH", "COPILOT_SDK_PATH", "GITHUB_TOKEN")
    log.write(json.dumps([sys.argv[1:], [os.environ.get(name) for name in names]]) + "\n")
def say(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()
say({"id": 0, "method": "connect", "params": {}})
joining = {"sessionId": os.environ.get("SESSION_ID") or "any", "tools": [], "hooks": False, "requestPermission": False}
say({"id": 1, "method": "session.resume", "params": joining})
while sys.stdin.buffer.read(1):
    pass
"""


@pytest.fixture
def place(zot):
    """The folder of the project's Copilot extensions."""
    node = zot.folder / "bin"
    (zot.folder / "join.py").write_text(JOIN)
    write_node(node, f'exec {sys.executable} -I {zot.folder / "join.py"} {zot.folder / "seen"} "$@"')
    zot.env |= {"COPILOT_HOME": str(zot.folder / "copilot"), "PATH": f"{node}:{zot.env['PATH']}", "GITHUB_TOKEN": "t"}
    (zot.cwd / ".git").mkdir()
    fake_sdk(zot.home / "copilot-sdk")
    return zot.cwd / ".github" / "extensions"


def run(zot, *flags: str, status: Status = Status.OK):
    return zot.replay(Script(zot.cwd).answer("Hi"), "--no-session", *flags).check(status)


def test_many_of_the_user_s_that_nobody_asked_for_get_one_line_and_stop_nothing(zot, place):
    for number in range(10):
        copilot_extension(zot.folder / "copilot" / "extensions", f"tool{number}")
    outcome = run(zot, "--strict-guards", "--trust-project")
    assert [line for line in outcome.warnings if "opilot" in line] == [
        "zot: 10 Copilot extensions of yours are not trusted: not started: tool0, tool1, tool2, tool3, tool4 and 5"
        " more; zot ext trust NAME"
    ]
    failed = [record.extension for record in outcome.of(Extension) if record.event == "failed"]
    assert failed == [f"tool{number}" for number in range(10)]


def test_one_of_the_project_that_is_not_trusted_stops_strict_guards(zot, place):
    copilot_extension(place, "notes")
    assert "notes: not trusted (never seen)" in run(zot, "--strict-guards", status=Status.BLOCKED).result.reason


def test_one_that_is_trusted_starts_in_a_host_and_is_left_out_without_an_sdk(zot, place):
    folder = copilot_extension(place, "notes")
    assert zot.run("ext", "trust", "notes").status == 0
    (zot.home / "copilot-sdk").rename(zot.home / "away")
    (said,) = [line for line in run(zot).warnings if "notes" in line]
    assert said == (
        f"zot: extension load: {folder}: it needs @github/copilot-sdk, which is not installed: zot ext install-sdk"
        " copilot"
    )
    (zot.home / "away").rename(zot.home / "copilot-sdk")
    with hosting(zot) as host:
        assert list(host.stats()) == ["notes"]
    argv, given = json.loads((zot.folder / "seen").read_text().splitlines()[-1])
    assert [argument.rpartition("/")[2] for argument in argv] == ["bootstrap.mjs"]
    sdk = zot.home / "copilot-sdk" / "node_modules" / "@github" / "copilot-sdk"
    assert given == [str(folder / "extension.mjs"), str(sdk), None]
