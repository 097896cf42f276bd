"""MCP servers of files in runs and hosts: trusted entry by entry, reloaded entry by entry, shown like extensions."""

from __future__ import annotations

import json
import shlex
import shutil

import pytest

from tests.support.extension_folder import CHILDREN
from tests.support.host_process import hosting
from tests.support.mcp_files import write_servers
from tests.support.replay_script import Script
from tests.support.zot_process import wait_until
from wire import control
from wire.events import Extension
from wire.exit_codes import Status

ECHO = {"command": "sh", "args": ["server.sh", "${WHO:-one}"]}


@pytest.fixture
def project(zot):
    """A project with a server that answers, and one that is for an editor only."""
    shutil.copy(CHILDREN / "mcp" / "reference.sh", zot.cwd / "server.sh")
    write_servers(zot.cwd / ".mcp.json", one=ECHO, far={"type": "http", "url": "https://x"})
    return zot.cwd


def run(zot, *flags: str, status: Status = Status.OK):
    return zot.replay(Script(zot.cwd).answer("Hi"), "--no-session", *flags).check(status)


def test_an_entry_runs_once_it_is_trusted_and_until_it_changes(zot, project):
    reason = "not trusted (never seen): not started; zot ext trust one, or --trust-project"
    outcome = run(zot)
    assert f"zot: MCP server one of this project is {reason}" in outcome.warnings
    assert any(f"MCP server far: {project}/.mcp.json:1:" in line for line in outcome.warnings)
    assert ("one", "failed", reason) in [(each.extension, each.event, each.message) for each in outcome.of(Extension)]
    trusted = zot.run("ext", "trust", "one")
    assert "entry   " in trusted.text
    assert "with 1 file" in trusted.text
    with hosting(zot) as host:
        assert host.call("mcp__one__echo", "hi") == "hi"
        assert list(host.stats()) == ["one"]
    (project / "server.sh").write_text((project / "server.sh").read_text() + "\n")
    changed = "not trusted (its entry or a file that it names has changed)"
    assert any(changed in line for line in run(zot).warnings)
    assert zot.run("ext", "trust", "--revoke", "one").status == 0
    assert any("never seen" in line for line in run(zot).warnings)


def test_a_server_is_known_by_its_file_and_entry_and_its_tools_by_their_own_names(zot, project):
    file = write_servers(project / ".mcp.json", **{"my/one": ECHO})
    place = f"{file}, entry my/one"
    with hosting(zot, flags=("--trust-project",)):
        shown = zot.run("ext", "status", "my_one")
        assert f"\nfile        {place}\n" in shown.text
        assert "\nfolder" not in shown.text
        record = json.loads(zot.run("ext", "status", "my_one", "--json").stdout)
        assert (record["mcp_file"], record["mcp_entry"]) == (str(file), "my/one")
        for name in ("echo", "mcp__my_one__echo"):
            assert zot.run("ext", "call", "my_one", name, '{"text": "hi"}').text == "hi\n"
        wrong = zot.run("ext", "call", "my_one", "ecko")
        assert (wrong.status, wrong.stdout) == (2, b"")
    idle = zot.run("ext", "status", "my_one")
    assert f"\nfile        {file} (project), entry my/one\n" in idle.text


def test_a_scope_has_one_name(zot, project):
    write_servers(zot.home / "mcp.json", two=ECHO)
    both = {("user", "two"), ("project", "one")}
    for family in ("ext", "mcp"):
        assert {tuple(line.split()[:2]) for line in zot.run(family, "list").text.splitlines()} >= both


def test_a_named_file_needs_no_trust_and_no_discovery(zot, project):
    file = write_servers(zot.folder / "mine.json", mine={**ECHO, "args": [str(project / "server.sh")]})
    with hosting(zot, flags=("--no-ext", "--mcp-config", str(file))) as host:
        assert host.call("mcp__mine__echo", "hi") == "hi"
        assert list(host.stats()) == ["mine"]
    file.write_text('{"mcpServers": {\n"a" 1}}')
    outcome = zot.replay(Script(zot.cwd).answer("Hi"), "--no-session", "--mcp-config", str(file))
    assert outcome.status == Status.REQUIRED_EXTENSION.exit_code
    assert f"was named with --mcp-config, and cannot be loaded: {file}:2:5: this is no JSON" in outcome.stderr


@pytest.mark.slow
def test_of_a_changed_file_only_the_changed_server_is_reloaded(zot, project):
    file = write_servers(zot.home / "mcp.json", two=ECHO, three=ECHO)
    with hosting(zot, flags=("--watch", "--trust-project")) as host:
        assert set(host.stats()) == {"one", "two", "three"}
        pids = {name: stats.pids for name, stats in host.stats().items()}
        write_servers(file, two=ECHO, three={**ECHO, "args": ["server.sh", "other"]}, four=ECHO)
        wait_until(lambda: "four" in host.stats() and host.stats()["three"].pids not in ((), pids["three"]))
        now = {name: stats.pids for name, stats in host.stats().items()}
        assert (now["one"], now["two"]) == (pids["one"], pids["two"])
        write_servers(file, two={**ECHO, "disabled": True}, four=ECHO)
        wait_until(lambda: {"two", "three"}.isdisjoint(name for name, one in host.stats().items() if one.pids))
        file.write_text("{")
        outcomes = host.client.ask(control.Reload("r"), control.Reloaded).outcomes
        assert {each.name: each.outcome for each in outcomes}["four"] == "kept"
        assert host.call("mcp__four__echo", "still") == "still"


@pytest.mark.slow
def test_the_commands_about_extensions_know_it(zot, project, monkeypatch):
    zot.env["MY_TOKEN"] = "very-secret"
    file = write_servers(
        project / ".mcp.json", one={**ECHO, "args": ["server.sh", "${MY_TOKEN}"], "env": {"T": "${MY_TOKEN}"}}, bad={}
    )
    listed = {row["name"]: row for row in zot.run("ext", "list", "--json").json_lines}
    assert (listed["one"]["kind"], listed["one"]["source"], listed["one"]["dir"]) == ("mcp", str(file), str(project))
    assert listed["one"]["trusted"] is False
    assert "command is required" in listed["bad"]["broken"]
    told = zot.run("ext", "info", "one").text
    assert "sh server.sh '${MY_TOKEN}'" in told
    assert "gets secrets  MY_TOKEN" in told
    assert "MY_TOKEN in args can be seen by every user" in told
    assert "very-secret" not in told + zot.run("ext", "info", "one", "--json").text
    assert zot.run("ext", "trust", "one").text.count("very-secret") == 0
    assert zot.run("ext", "disable", "one").status == 0
    assert json.loads(file.read_text())["mcpServers"]["one"]["disabled"] is True
    assert zot.run("ext", "enable", "one").status == 0
    assert {row["name"]: row for row in zot.run("ext", "list", "--json").json_lines}["one"]["trusted"] is True
    assert "MCP server bad: " in zot.run("ext", "trust", "bad").stderr
    for command in ("remove", "update"):
        outcome = zot.run("ext", command, "one", *(["--yes"] if command == "remove" else []))
        assert outcome.status == Status.USAGE.exit_code
        assert "zot mcp" in outcome.stderr
    doctor = {row["name"]: row for row in zot.run("ext", "doctor", "--json").json_lines}
    assert doctor["one"]["tools"] == ["mcp__one__echo"]
    assert doctor["bad"]["level"] == "fail"
    assert [one["topic"] for one in doctor["one"]["findings"] if one["level"] == "warn"] == ["entry"]


@pytest.mark.slow
def test_a_server_of_ours_in_the_project_s_file_does_not_start_itself_without_end(zot, project):
    """As itself it is left out, for its extensions run here. Behind another program it starts once, without it."""
    own = [*zot.command, "mcp", "serve"]
    behind = {"command": "sh", "args": ["-c", f"exec {shlex.join(own)}"]}
    write_servers(project / ".mcp.json", self={"command": own[0], "args": own[1:]}, behind=behind)
    with hosting(zot, flags=("--trust-project",)) as host:
        assert list(host.stats()) == ["behind"]
        assert host.stats()["behind"].processes <= 4
