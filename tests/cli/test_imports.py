"""A run imports only what it uses: the SDK takes 1 s and 77 MB, rich and pydantic 0.1 s each."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.replay_script import Script, ok
from tests.support.zot_process import ROOT
from wire.exit_codes import Status

TRACED = [sys.executable, "-X", "importtime", "-m", "pyzot"]
SLOW = {"anthropic", "prometheus_client", "pydantic", "rich", "structlog"}
NOT_FOR_A_REPLAY = {
    "typer": "a plain command line is read without it",
    "anthropic": "only the model worker talks to a model",
    "pydantic": "typer or the SDK would load it",
    "rich": "nothing is shown to a person",
    "structlog": "it is for the log of `zot host`",
    "prometheus_client": "it is for --metrics",
    "jsonschema_rs": "only the checker process of hard schemas uses it",
    "yaml": "no skill of a user has frontmatter",
    "agent.skills.discover": "only the skills that come with zot are offered",
    "platformdirs": "ZOT_HOME says where the files are",
    "asyncio": "the loop is our own",
    "difflib": "no word is misspelt and no file is changed",
    "agent.rpc": "no program is served",
    "wire.rpc": "no program is served",
    "cli.app": "it defines all commands for typer",
    "cli.ext": "another command",
    "cli.sessions": "another command",
    "cli.batch": "another command",
    "agent.batch": "another command",
    "agent.sessions.export": "nothing is exported",
    "agent.sessions.reading": "no session is shown",
    "markdown_it": "nothing is exported",
    "cli.hosts": "another command",
    "cli.top": "another command",
    "cli.report": "another command",
    "cli.doctor": "another command",
    "supervisor.install": "nothing is installed",
    "supervisor.harness": "no extension is tested",
    "supervisor.mcp_server": "nothing is served",
    "supervisor.discovery.mcp": "there is no file of MCP servers",
    "supervisor.discovery.copilot": "there is no Copilot extension",
    "wire.dialects.copilot": "there is no Copilot extension",
    "wire.settings.mcp_file": "there is no file of MCP servers",
    "wire.flags": "a plain command line is read from a table that is made of it",
    "wire.dialects.mcp": "no MCP server is started",
    "wire.dialects.jsonrpc": "no MCP server is started",
    "cli.mcp": "another command",
    "supervisor.alerts": "the config has no rules for events",
    "agent.telemetry": "it is for --otel",
    "supervisor.telemetry": "it is for --otel",
    "opentelemetry": "only the process that exports loads it",
}
"""Packages that a replayed run without extensions must not import, and why it needs none of them."""


def modules(trace: str) -> set[str]:
    """The modules that `-X importtime` saw."""
    return set(re.findall(r"^import time:[ \d]+\|[ \d]+\| +(\S+)$", trace, re.MULTILINE))


def imported(trace: str) -> set[str]:
    """Their top-level packages."""
    return {name.partition(".")[0] for name in modules(trace)}


@pytest.mark.parametrize("mode", ["--json", "-p"])
def test_a_replayed_run_imports_what_it_needs(zot, mode):
    cassette = Script(zot.cwd).answer("Done.").write(zot.folder / "cassette.jsonl")
    outcome = zot.run(mode, "--replay", cassette, "go", command=TRACED)
    assert outcome.status == 0, outcome.stderr
    seen = modules(outcome.stderr)
    assert {"msgspec", "cli.run.headless"} <= seen  # the trace is there
    assert {name for name in NOT_FOR_A_REPLAY if any(f"{module}.".startswith(f"{name}.") for module in seen)} == set()


def test_no_class_of_a_replayed_run_is_made_by_dataclasses(zot):
    """Each costs a millisecond at the start; a `msgspec.Struct` costs a twentieth of that."""
    cassette = Script(zot.cwd).answer("Done.").write(zot.folder / "cassette.jsonl")
    say = (
        "import dataclasses, sys; make = dataclasses._process_class\n"
        "def told(cls, *given): print(cls.__module__, cls.__name__, file=sys.stderr); return make(cls, *given)\n"
        "dataclasses._process_class = told\n"
        "from pyzot.__main__ import main; main()"
    )
    outcome = zot.run("-p", "--replay", cassette, "go", command=[sys.executable, "-c", say])
    assert (outcome.status, outcome.text) == (0, "Done.\n"), outcome.stderr
    assert outcome.stderr == ""


def test_a_replayed_run_with_a_tool_imports_nothing_slow(zot):
    script = Script(zot.cwd).call(("write", {"path": "made", "content": "x\n"}), results=[ok("x\n")]).answer("Done.")
    cassette = script.write(zot.folder / "cassette.jsonl")
    outcome = zot.run("--json", "--stats", zot.folder / "stats", "--replay", cassette, "go", command=TRACED)
    assert outcome.status == 0, outcome.stderr
    assert not imported(outcome.stderr) & SLOW


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
