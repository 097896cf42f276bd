"""Findings about an extension: why it did not start, with advice about the protocol; how it ran and ended."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.harness.checkup import CheckupResult, Force, examine
from supervisor.harness.findings import FindingLevel, judge, worst
from supervisor.harness.harness import Harness
from supervisor.harness.recorded_process import HandshakePhase
from supervisor.harness.script_runner import find_extension
from supervisor.process.child import ExitStatus
from tests.support.extension_folder import folder
from wire.dialects.table import find_dialect

if TYPE_CHECKING:
    from pathlib import Path

SH, PY = ("sh", "main"), (sys.executable, "-I", "-S", "main")
HELLO = '{"type":"hello","name":"x"}'
FAILED_STARTS: dict[str, tuple[tuple[str, ...], str | bytes, str, str]] = {
    # name: command, file `main`, the end of the message, a part of the advice
    "unknown-program": (("zz-none",), "", "zz-none: no such program on PATH", "looked up on PATH"),
    "not-executable": (("./main",), "", "/main)", "in its folder"),
    "no-interpreter": (("./run",), "#!/nowhere/x\r\n", r"'/nowhere/x\r' (first line, after #!) does not exist", "./"),
    "other-machine": (("./run",), b"\x7fELF" + bytes(60), "(a script needs a #! line)", ""),
    "python": (PY, "raise ValueError('seven')\n", '(exit 1): "ValueError: seven" at main:1', ""),
    "two-lines": (SH, "echo one >&2; echo two >&2; exit 3\n", '(exit 3): "one", "two"', ""),
    "prints-and-crashes": (SH, "echo starting; echo no port >&2; exit 1\n", '(exit 1): "no port"', ""),
    "env-no-such": (("./run",), "#!/usr/bin/env zz-none\n", "", ""),
    "exits": (SH, "exit 7\n", "it exited before its hello (exit 7)", ""),
    "killed": (SH, "kill -9 $$\n", "it exited before its hello (signal SIGKILL)", ""),
    "ends-at-once": (SH, "", "it exited before its hello (exit 0)", "read stdin until it ends"),
    "silent": (SH, "read x\n", "said no hello within 0.3 s", "without being asked"),
    "not-flushed": (
        PY, f"import sys\nprint('{HELLO}')\nsys.stdin.read()\n", "came only when it was stopped", "flush stdout"
    ),
    "prints": (SH, "echo Listening on 3000\n", "it printed a line that is no frame: Listening on 3000", "to stderr"),
    "headers": (SH, "echo 'Content-Length: 5'\n", "as language servers do", "one JSON object per line"),
    "json-rpc": (SH, 'echo \'{"jsonrpc":"2.0","id":1}\'\n', "as MCP servers do", '"dialect": "mcp"'),
    "no-name": (SH, 'echo \'{"type":"hello"}\'\n', "", "zot ext schema hello"),
    "not-hello-first": (SH, "echo '{\"type\":\"ready\"}'; read x\n", "must be hello, not ready", "ext schema hello"),
}  # fmt: skip


def test_each_failed_start_says_why(tmp_path: Path) -> None:
    found = []
    for name, (command, text, _message, _advice) in FAILED_STARTS.items():
        hello = 0.3 if name in ("silent", "not-flushed") else 60
        made = folder(tmp_path, name, list(command), timeouts={"hello": hello})
        for file, mode in (("main", 0o644), ("run", 0o755)):
            (made / file).write_bytes(text if isinstance(text, bytes) else text.encode())
            (made / file).chmod(mode)
        found.append(find_extension(made))
    with Harness() as harness:
        results = examine(harness, found, at_once=8)
    for result in results:
        name = result.found.manifest.name
        _, _, message, advice = FAILED_STARTS[name]
        finding = next(each for each in judge(result) if each.topic in ("start", "handshake"))
        assert finding.level is FindingLevel.FAIL
        assert finding.message.endswith(message), name
        assert advice in finding.advice, (name, finding)
        assert bool(finding.advice) == bool(advice) or finding.topic == "start", (name, finding)
        assert finding.lines == result.stderr, name
        if name == "env-no-such":
            assert '(exit 127): cannot find a program: "' in finding.message


def told(found: Any, **facts: Any) -> dict[str, FindingLevel]:
    """The topics of the findings about one that is sound but for `facts`."""
    good: dict[str, Any] = {
        "phase": HandshakePhase.READY,
        "ready_s": 0.1,
        "hello_name": "x",
        "exit": ExitStatus(0, 0.0, 0),
        "stop_s": 0.01,
        "has_acked": True,
    }
    findings = judge(CheckupResult(found, **{**good, **facts}))
    assert all(
        finding.advice for finding in findings if finding.level is not FindingLevel.OK and finding.topic != "register"
    )
    topics = {finding.topic: finding.level for finding in findings if finding.level is not FindingLevel.OK}
    assert worst(findings) is (
        FindingLevel.FAIL if FindingLevel.FAIL in topics.values() else FindingLevel.WARN if topics else FindingLevel.OK
    )
    return topics


@pytest.mark.parametrize(
    ("facts", "topics"),
    [
        ({}, {}),
        ({"has_acked": False, "force": Force.CLOSED_STDIN}, {}),
        ({"force": Force.SIGTERM}, {"shutdown": FindingLevel.FAIL}),
        ({"force": Force.SIGKILL, "exit": ExitStatus(-9, 0.0, 0)}, {"shutdown": FindingLevel.FAIL}),
        ({"exit": ExitStatus(3, 0.0, 0)}, {"shutdown": FindingLevel.WARN}),
        ({"force": Force.NOTHING}, {"shutdown": FindingLevel.FAIL}),
        ({"left": 2}, {"processes": FindingLevel.WARN}),
        ({"hello_name": "y"}, {"name": FindingLevel.WARN}),
        ({"phase": HandshakePhase.SILENT}, {"ready": FindingLevel.WARN}),
        ({"ready_s": 2.5}, {"ready": FindingLevel.WARN}),
        (
            {"phase": HandshakePhase.FAILED, "failure": "said no hello", "ready_s": None},
            {"handshake": FindingLevel.FAIL},
        ),
        ({"spawn_error": "no such file", "exit": None}, {"start": FindingLevel.FAIL}),
        ({"bad_frames": ["bad hello frame"]}, {"frames": FindingLevel.FAIL}),
        ({"unknown_frames": ["weather"]}, {"frames": FindingLevel.WARN}),
        ({"remarks": ["subscribed to 'x', which this host does not send"]}, {"register": FindingLevel.WARN}),
        ({"tools": ("a", "b"), "deferred": ("a", "b")}, {"tools": FindingLevel.WARN}),
        ({"tools": ("a", "b"), "deferred": ("a",)}, {}),
        ({"is_mute": True}, {"stdout": FindingLevel.FAIL}),
        ({"lines": 5000}, {"stdout": FindingLevel.WARN}),
    ],
)
def test_each_fault_has_a_finding_with_advice(
    facts: dict[str, Any], topics: dict[str, FindingLevel], tmp_path: Path
) -> None:
    assert told(find_extension(folder(tmp_path, "x", ["./x"])), **facts) == topics


ASKS = "zot: @github/copilot-sdk 1.0.14 asks for Node ^20.19.0 || >=22.12.0, and this is v20.6.0"


@pytest.mark.parametrize(
    ("facts", "topics"),
    [
        ({}, {}),
        ({"hello_name": "Another Name", "has_acked": False}, {}),
        ({"stderr": [ASKS]}, {"node": FindingLevel.WARN}),  # what zot's launcher of Copilot extensions says
        ({"exit": ExitStatus(1, 0.0, 0)}, {}),  # it is asked for nothing but that it ends
        ({"force": Force.SIGTERM}, {"stop": FindingLevel.WARN}),
        ({"force": Force.SIGKILL, "left": 1}, {"stop": FindingLevel.WARN, "processes": FindingLevel.WARN}),
        ({"force": Force.NOTHING}, {"stop": FindingLevel.FAIL}),
        ({"phase": HandshakePhase.SILENT}, {"ready": FindingLevel.WARN}),
        ({"ready_s": 4.0}, {"ready": FindingLevel.WARN}),
        ({"bad_frames": ["an answer of 9 bytes …"]}, {"messages": FindingLevel.WARN}),
        ({"warnings": ["tool 'x' is skipped"]}, {"register": FindingLevel.WARN}),
        ({"unknown_frames": ["notifications/strange"]}, {}),
        ({"tools": ("a",), "definition_tokens": 30_000}, {"size": FindingLevel.WARN}),
    ],
)
def test_a_server_is_judged_by_its_own_rules(
    facts: dict[str, Any], topics: dict[str, FindingLevel], tmp_path: Path
) -> None:
    assert told(find_extension(folder(tmp_path, "desk", ["./x"], dialect="mcp")), **facts) == topics


def test_the_end_of_a_server_has_the_time_of_its_dialect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find_extension(folder(tmp_path, "desk", ["./x"], dialect="mcp"))
    late = CheckupResult(found, phase=HandshakePhase.READY, ready_s=0.1, force=Force.SIGKILL)
    assert any(finding.message.endswith("it took SIGKILL after 3 s") for finding in judge(late))
    monkeypatch.setattr(find_dialect("mcp"), "term_s", 5.0, raising=False)
    assert any(finding.message.endswith("it took SIGKILL after 7 s") for finding in judge(late))
