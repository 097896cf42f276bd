"""Entries of MCP files become extensions: expanded once, one name space, each fault named with its place."""

from __future__ import annotations

import os
from typing import Any

import pytest

from supervisor.discovery.discover import McpFiles, discover
from supervisor.discovery.environment import extension_environment
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.mcp.servers import expand_variables, is_same, read_again, read_servers
from supervisor.discovery.skipped_extension import SkipCause, SkippedExtension, SkipReason
from supervisor.home.config import Config
from tests.support.extension_folder import folder as make_folder
from tests.support.mcp_files import found_in, server_of, write_servers
from wire.manifest import ManifestError


@pytest.fixture
def project(tmp_path):
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture
def home(tmp_path):
    made = tmp_path / "home"
    made.mkdir()
    return made


def lines(discovery):
    return [skipped.line for skipped in discovery.skipped if skipped.is_error]


def test_a_server_of_the_project(project, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "secret-1")
    write_servers(
        project / ".mcp.json",
        one={
            "command": "${workspaceFolder}/run", "args": ["--at", "${WHERE:-here}"],
            "env": {"T": "${MY_TOKEN}", "N": 1}, "cwd": "sub", "includeTools": ["a"], "excludeTools": ["b"],
            "instructions": False, "timeout": 5000,
        },
    )  # fmt: skip
    found = server_of(project, "one")
    assert found.scope is Scope.PROJECT
    assert found.is_of_a_project
    assert found.mcp_file == project / ".mcp.json"
    assert found.place == project / ".mcp.json" / "one"
    assert found.folder == project / "sub"
    assert found.argv == [f"{project}/run", "--at", "here"]
    assert found.written == ["${workspaceFolder}/run", "--at", "${WHERE:-here}"]
    assert found.set_env == {"T": "secret-1", "N": "1"}
    assert found.options == {"include_tools": ("a",), "exclude_tools": ("b",), "instructions": False}
    manifest = found.manifest
    assert (manifest.dialect, manifest.env_policy, manifest.restart.policy) == ("mcp", "minimal", "permanent")
    assert manifest.timeouts.tool_call == 5.0
    assert manifest.timeouts.ready == 10.0
    assert manifest.env == ("WHERE", "MY_TOKEN")
    assert "secret-1" not in repr(manifest)


def test_its_environment_is_minimal_with_what_it_names(project, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "s")
    write_servers(project / ".mcp.json", one={"command": "x", "env": {"T": "${MY_TOKEN}", "PATH": "/p"}})
    environ = {"PATH": "/bin", "HOME": "/h", "MY_TOKEN": "s", "OTHER": "o", "ANTHROPIC_API_KEY": "k"}
    env = extension_environment(server_of(project, "one"), Config(), environ)
    assert env == {"PATH": "/p", "HOME": "/h", "MY_TOKEN": "s", "T": "s"}


def test_files_by_precedence(project, home, tmp_path):
    named = write_servers(tmp_path / "named.json", one={"command": "named"}, two={"command": "named"})
    write_servers(project / ".mcp.json", one={"command": "project"}, three={"command": "project"})
    write_servers(home / "mcp.json", three={"command": "home"}, four={"command": "home"})
    discovery = found_in(project, home, named)
    assert {found.manifest.name: found.manifest.exec for found in discovery.found} == {
        "one": "named", "two": "named", "three": "project", "four": "home",
    }  # fmt: skip
    assert lines(discovery) == []
    assert [skipped.reason for skipped in discovery.skipped] == [
        f"{project}/.mcp.json: the name 'one' is taken by {named} (--mcp-config)",
        f"{home}/mcp.json: the name 'three' is taken by {project}/.mcp.json (project)",
    ]


def test_a_clash_with_an_extension_is_named(project, home):
    folder = make_folder(project / ".zot" / "extensions", "one", ["x"])
    write_servers(project / ".mcp.json", one={"command": "x"})
    discovery = found_in(project, home)
    assert [found.folder for found in discovery.found] == [folder]
    assert lines(discovery) == [f"MCP server one: {project}/.mcp.json: the name 'one' is taken by {folder} (project)"]


def test_nothing_is_found_without_discovery_but_what_is_named(project, home, tmp_path):
    named = write_servers(tmp_path / "named.json", one={"command": "x"})
    write_servers(project / ".mcp.json", two={"command": "x"})
    write_servers(home / "mcp.json", three={"command": "x"})
    discovery = discover((), None, None, None, McpFiles(project, (str(named),)))
    assert [found.manifest.name for found in discovery.found] == ["one"]
    assert discovery.found[0].folder == project


def test_only_what_is_named(project, home, tmp_path):
    named = write_servers(tmp_path / "named.json", one={"command": "x"})
    write_servers(project / ".mcp.json", two={"command": "x"})
    write_servers(home / "mcp.json", three={"command": "x"})
    discovery = discover((), project, home, None, McpFiles(project, (str(named),), only_named=True))
    assert [found.manifest.name for found in discovery.found] == ["one"]


@pytest.mark.parametrize(
    ("entry", "is_left_out"),
    [
        ({"command": "zot", "args": ["mcp", "serve", "-q"]}, True),
        ({"command": "/opt/bin/zot", "args": ["mcp", "serve", "--cwd", "."]}, True),
        ({"command": "uvx", "args": ["--from", "pyzot", "zot", "mcp", "serve", "--cwd=${workspaceFolder}"]}, True),
        ({"command": "python3", "args": ["-m", "pyzot", "mcp", "serve", "--mcp-config", "a.json"]}, True),
        ({"command": "zot", "args": ["mcp", "serve"], "cwd": "sub"}, False),
        ({"command": "zot", "args": ["mcp", "serve", "--cwd", "../other"]}, False),
        ({"command": "zot", "args": ["mcp", "serve", "--host", "../other"]}, False),
        ({"command": "zot", "args": ["mcp", "serve", "--no-ext", "-e", "x"]}, False),
        ({"command": "zot", "args": ["mcp"]}, False),
        ({"command": "notzot", "args": ["mcp", "serve"]}, False),
    ],
)
def test_zot_s_own_server_for_this_project_is_left_out(project, entry, is_left_out):
    write_servers(project / ".mcp.json", zot=entry, good={"command": "x"})
    discovery = found_in(project)
    assert [found.manifest.name for found in discovery.found] == (["good"] if is_left_out else ["good", "zot"])
    assert [skipped.line for skipped in discovery.skipped if skipped.is_error] == []


BAD = [
    ({"command": "${NOT_SET}"}, "command: the variable NOT_SET is not set"),
    ({"command": "x", "args": ["a", "${env:NOT_SET}"]}, "args[1]: the variable NOT_SET is not set"),
    ({"command": "x", "env": {"A": "${input:key}"}}, "env.A: ${input:key} is something that only an editor"),
    ({"command": "x", "cwd": "${NOT_SET}"}, "cwd: the variable NOT_SET is not set"),
    ({"command": "${EMPTY}"}, "command: ${EMPTY} is empty"),
    ({"command": "x", "env": {"A": "${ZOTCORE_RPC_TOKEN}"}}, "env.A: the variable ZOTCORE_RPC_TOKEN is not set"),
    ({"command": 7}, "command: expected str, got int"),
    ({"type": "sse", "url": "https://x"}, "its type is 'sse'"),
]


@pytest.mark.parametrize(("entry", "said"), BAD)
def test_one_that_cannot_be_started_costs_only_itself(project, monkeypatch, entry, said):
    monkeypatch.delenv("NOT_SET", raising=False)
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("ZOTCORE_RPC_TOKEN", "t")
    write_servers(project / ".mcp.json", bad=entry, good={"command": "x"})
    discovery = found_in(project)
    assert [found.manifest.name for found in discovery.found] == ["good"]
    [line] = lines(discovery)
    assert line.startswith(f"MCP server bad: {project}/.mcp.json:")
    assert said in line


@pytest.mark.parametrize("required", [True, False])
def test_a_required_server_that_cannot_be_started(project, required):
    write_servers(project / ".mcp.json", bad={"command": "${NOT_SET}", "required": required})
    [skipped] = found_in(project).skipped
    assert bool(skipped.why_needed) is required


def test_a_file_that_is_no_json_names_the_place(project):
    (project / ".mcp.json").write_text('{"mcpServers": {\n  "a": {"command": "x" "args": []}}}')
    discovery = found_in(project)
    [line] = lines(discovery)
    assert line.startswith(f"MCP servers: {project}/.mcp.json:2:24: this is no JSON: expected ','")
    assert discovery.skipped[0].why_needed == ""


@pytest.mark.parametrize("make", ["missing", "no json", "folder"])
def test_a_named_file_that_cannot_be_read_stops_the_run(project, tmp_path, make):
    file = tmp_path / "named.json"
    if make == "no json":
        file.write_text("{")
    elif make == "folder":
        file.mkdir()
    [skipped] = found_in(project, None, file).skipped
    assert skipped.why_needed.startswith(f"file named.json was named with --mcp-config, and cannot be loaded: {file}")


def test_a_fifo_does_not_block(project):
    os.mkfifo(project / ".mcp.json")
    [line] = lines(found_in(project))
    assert "cannot be read: Not a file" in line


def test_a_disabled_server_is_skipped_in_silence(project, tmp_path):
    named = write_servers(tmp_path / "named.json", two={"command": "${NOT_SET}", "enabled": False})
    write_servers(project / ".mcp.json", one={"command": "x", "disabled": True}, bad={"command": 1, "disabled": True})
    discovery = found_in(project, None, named)
    assert discovery.found == ()
    assert lines(discovery) == []


def test_unknown_fields_and_new_names_are_told(project):
    write_servers(project / ".mcp.json", **{"a/b": {"command": "x", "alwaysAllow": []}})
    remark = server_of(project, "a_b").manifest.remark
    assert remark == f"{project}/.mcp.json:1:17: nothing reads the field 'alwaysAllow'; it is called 'a_b' here"


def test_a_secret_in_args_is_told(project, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_x")
    write_servers(project / ".mcp.json", one={"command": "x", "args": ["--token=${GITHUB_TOKEN}"]})
    write_servers(project / ".mcp.json", one={"command": "x", "args": ["--token=${GITHUB_TOKEN}"]})
    found = server_of(project, "one")
    assert "GITHUB_TOKEN in args can be seen by every user of this machine" in found.manifest.remark
    assert found.argv[1] == "--token=ghp_x"
    assert found.written[1] == "--token=${GITHUB_TOKEN}"


def test_a_server_of_the_project_waits_for_trust(project):
    write_servers(project / ".mcp.json", one={"command": "x"})

    def admit(_found: FoundExtension) -> Any:
        yield from ()
        return SkipReason("never seen", SkipCause.NEVER_SEEN)

    [skipped] = found_in(project, admit=admit).skipped
    assert isinstance(skipped, SkippedExtension)
    assert skipped.line == (
        "MCP server one of this project is not trusted (never seen): not started; zot ext trust one, or --trust-project"
    )
    assert skipped.untrusted is not None


def test_reading_again(project, monkeypatch):
    monkeypatch.setenv("A", "1")
    file = write_servers(project / ".mcp.json", one={"command": "x", "args": ["${A}"]}, two={"command": "y"})
    one, two = server_of(project, "one"), server_of(project, "two")
    write_servers(file, one={"command": "x", "args": ["${A}"]}, two={"command": "z"})
    assert is_same(one, read_again(one, {"A": "1"}))
    assert not is_same(one, read_again(one, {"A": "2"}))
    assert not is_same(two, read_again(two, {}))
    write_servers(file, one={"command": "x", "args": "y"})
    with pytest.raises(ManifestError, match=r"\.mcp\.json:1:\d+: args: expected array"):
        read_again(one, {})
    with pytest.raises(ManifestError, match="no longer has a server 'two'"):
        read_again(two, {})


@pytest.mark.parametrize(("cwd", "at"), [(None, ""), ("sub", "sub"), ("${workspaceFolder}/a/../b", "b"), (".", "")])
def test_where_it_runs(project, cwd, at):
    write_servers(project / ".mcp.json", one={"command": "x"} | ({} if cwd is None else {"cwd": cwd}))
    assert server_of(project, "one").folder == (project / at if at else project)


def test_the_host_s_own_token_is_never_handed_over(project):
    [found] = read_servers(write_servers(project / "f", one={"command": "${ZOTCORE_RPC_TOKEN}"}), Scope.GLOBAL, project)
    assert isinstance(found, FoundExtension)
    assert "is not set" in str(expand_variables(found, {"ZOTCORE_RPC_TOKEN": "t"}))
