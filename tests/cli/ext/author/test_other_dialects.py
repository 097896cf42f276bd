"""Commands for authors with an MCP server: the doctor judges it as one, what speaks zot's protocol only says so."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.extension_folder import CHILDREN, extension, folder

if TYPE_CHECKING:
    from pathlib import Path

SERVERS = CHILDREN / "mcp"
TIMES = {"hello": 20.0, "ready": 20.0}


def server(parent: Path, script: str, *args: str, name: str = "desk", **manifest: Any) -> Path:
    program = ["/bin/sh"] if script.endswith(".sh") else [sys.executable, "-S"]
    fields = {"dialect": "mcp", "timeouts": TIMES, **manifest}
    return folder(parent, name, [*program, str(SERVERS / script), *args], **fields)


def words_of(record: dict[str, Any]) -> str:
    return " ".join(f"{finding['message']} {finding['advice']}" for finding in record["findings"])


def test_the_doctor_judges_an_mcp_server_as_one(zot, tmp_path):
    good = server(tmp_path, "reference.py", "--name", "Desk of all", "--instructions", "Count\ntwice. " * 99)
    outcome = zot.run("ext", "doctor", good, "--json")
    assert outcome.status == 0
    (record,) = outcome.json_lines
    assert {finding["topic"] for finding in record["findings"] if finding["level"] != "ok"} <= {"register", "ready"}
    assert record["dialect"] == "mcp"
    assert record["definition_tokens"] > 0
    said = {finding["topic"]: finding["message"] for finding in record["findings"]}
    assert said["speaks"].startswith("MCP 2025-11-25: Desk of all")
    assert said["size"] == f"about {record['definition_tokens']:,} tokens of each request"
    assert said["instructions"].startswith("Count twice. Count twice.")
    assert len(said["instructions"]) == 200
    assert record["instructions"].startswith("Count\ntwice. ")
    assert "after the end of its stdin, with exit status 0" in said["stop"]
    for word in ("frame", "shutdown", "hello", "same name"):
        assert word not in words_of(record), word


@pytest.mark.parametrize(
    ("fault", "level", "topic", "says"),
    [
        ("prints-between", "warn", "stdout", "lines are no messages of its protocol; the first: "),
        ("closes-stdout", "fail", "stdout", "it closed its stdout, and can answer nothing"),
        ("dies-at-import", "fail", "handshake", "it exited before its hello (exit 1)"),
    ],
)
def test_the_doctor_says_of_a_faulty_server_what_is_true_of_it(zot, tmp_path, fault, level, topic, says):
    bad = server(tmp_path, "faulty.py", fault)
    (record,) = zot.run("ext", "doctor", bad, "--json").json_lines
    found = next(finding for finding in record["findings"] if finding["topic"] == topic)
    assert (found["level"], says in found["message"]) == (level, True), found
    assert record["level"] == level
    for word in ("frame", "shutdown_ack", "zot ext schema"):
        assert word not in words_of(record), word


@pytest.mark.parametrize("dialect", ["zot", "mcp"])
def test_a_program_of_the_other_protocol_is_told_so(zot, tmp_path, dialect):
    if dialect == "zot":
        script = tmp_path / "eager.sh"
        script.write_text('echo \'{"jsonrpc":"2.0","method":"notifications/message"}\'; exec sleep 600')
        made = folder(tmp_path, "desk", ["/bin/sh", str(script)], timeouts={"hello": 1.0})
        says = 'for an MCP server write "dialect": "mcp" into extension.json'
    else:
        made = extension(tmp_path, "echo", dialect="mcp", timeouts={"hello": 1.0})
        says = 'leave "dialect" out of extension.json'
    outcome = zot.run("ext", "doctor", made)
    assert outcome.status == 1
    assert says in outcome.text


@pytest.mark.parametrize("command", ["test", "drive"])
def test_what_speaks_zots_protocol_only_starts_no_server(zot, tmp_path, command):
    started = tmp_path / "started"
    made = folder(tmp_path, "desk", ["/bin/sh", "-c", f"echo > {started}"], dialect="mcp")
    outcome = zot.run("ext", command, made)
    assert outcome.status == 2
    assert outcome.stderr == (
        f"zot ext {command}: {made}: desk speaks mcp, and this command is for zot's own protocol; "
        f"try zot mcp test desk if it is one of your MCP servers, else zot ext doctor {made}\n"
    )
    zot.home.mkdir(exist_ok=True)
    entry = {"command": "touch", "args": [str(started)]}
    (zot.home / "mcp.json").write_text(json.dumps({"mcpServers": {"shop": entry}}))
    outcome = zot.run("ext", command, "shop")
    assert outcome.status == 2
    assert (
        "shop is an MCP server, and this command is for zot's own protocol; try zot mcp test shop\n" in outcome.stderr
    )
    assert not started.exists()
