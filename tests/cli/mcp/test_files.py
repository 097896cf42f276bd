"""`zot mcp add`, `add-json` and `remove`: what they write, and what they refuse."""

from __future__ import annotations

import json
import stat

import pytest

from cli.mcp.edits import with_end_of_flags
from tests.support.zot_fork import run

OTHERS = """\
{
    // shared with other programs
    "mcpServers": {
        "a": { "type": "stdio", "command": "x", "theirs": [1] },
    },
    "inputs": [],
}
"""


@pytest.fixture
def project(zot):
    return zot.cwd


def servers(file):
    return json.loads(file.read_text())["mcpServers"]


def test_limits_of_a_new_server_are_written_as_a_manifest_has_them(zot):
    flags = ["--limit", "rss_mb=300", "--limit", "cpu_pct=50", "--limit", "action=stop"]
    assert run(zot, "mcp", "add", "index", *flags, "./server", "--limit", "its-own").status == 0
    assert servers(zot.home / "mcp.json")["index"] == {
        "command": "./server",
        "args": ["--limit", "its-own"],
        "limits": {"rss_mb": 300, "cpu_percent": 50, "action": "stop"},
    }


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (["rss_mb=0"], "--limit: rss_mb: write a number above 0, or none, not 0"),
        (["rss_mb"], "--limit: rss_mb: write NAME=VALUE, as in rss_mb=300"),
        (["rss=5"], "--limit: no such limit: 'rss'; did you mean 'rss_mb'?"),
        (["rss_mb=5", "rss_mb=6"], "--limit: rss_mb is there twice"),
        (["rss_mb=none"], "--limit rss_mb: leave it out, since a new entry has no limits"),
    ],
)
def test_a_limit_without_sense_writes_nothing(zot, limits, said):
    outcome = run(zot, "mcp", "add", "index", *(word for limit in limits for word in ("--limit", limit)), "./server")
    assert (outcome.status, said in " ".join(outcome.stderr.split())) == (2, True), outcome.stderr
    assert not (zot.home / "mcp.json").exists()


def test_a_server_is_added_replaced_and_removed(zot):
    file = zot.home / "mcp.json"
    added = run(zot, "mcp", "add", "files", "npx", "-y", "server", "--root", "/x", "-s")
    assert (added.status, added.stdout) == (0, b"")
    assert added.stderr.startswith(f"added files in {file}\n")
    assert servers(file) == {"files": {"command": "npx", "args": ["-y", "server", "--root", "/x", "-s"]}}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    before = file.read_bytes()
    again = run(zot, "mcp", "add", "files", "other")
    assert (again.status, file.read_bytes()) == (1, before)
    assert "has a server 'files' already; --force replaces it" in again.stderr
    (replaced,) = run(zot, "mcp", "add", "files", "--force", "--json", "--", "other").json_lines
    assert replaced == {"action": "replaced", "name": "files", "scope": "user", "file": str(file)}
    assert servers(file) == {"files": {"command": "other", "args": []}}

    removed = run(zot, "mcp", "remove", "files")
    assert (removed.status, removed.stderr) == (0, f"removed files from {file}\n")
    assert servers(file) == {}
    assert "no MCP server 'files'; zot mcp add" in run(zot, "mcp", "remove", "files").stderr


def test_flags_become_fields(zot):
    flags = ["--timeout", "1m30s", "--startup-timeout", "90", "--include-tools", "a, b", "--exclude-tools", "c"]
    added = run(zot, "mcp", "add", "n", *flags, "-e", "A=b=c", "-e", "TOKEN", "--cwd", "sub", "--", "-odd", "x")
    assert added.status == 0
    assert servers(zot.home / "mcp.json")["n"] == {
        "command": "-odd", "args": ["x"], "env": {"A": "b=c", "TOKEN": "${TOKEN}"}, "cwd": "sub", "timeout": 90_000,
        "startup_timeout_sec": 90.0, "includeTools": ["a", "b"], "excludeTools": ["c"],
    }  # fmt: skip
    assert "-odd is not on PATH" in added.stderr
    assert "looks like a secret" not in added.stderr
    told = run(zot, "mcp", "add", "m", "-e", "API_KEY=xyz", "sh").stderr
    assert "API_KEY looks like a secret, and mcp.json has it now as it is: write ${API_KEY} in its place" in told
    assert "xyz" not in told


def test_the_rest_of_a_projects_file_stays(zot, project):
    file = project / ".mcp.json"
    file.write_text(OTHERS)
    file.chmod(0o664)
    target = project / "kept.json"
    file.rename(target)
    file.symlink_to("kept.json")
    added = run(zot, "mcp", "add-json", "b", '{"command": "y", "of_others": 1}', "--scope", "project", cwd=project)
    assert "zot ext trust b" in added.stderr
    assert file.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o664
    new = '\n        "b": {\n            "command": "y",\n            "of_others": 1\n        }\n    },\n'
    assert target.read_text() == OTHERS.replace("\n    },\n", new)
    assert run(zot, "mcp", "remove", "b", cwd=project).status == 0
    assert target.read_text() == OTHERS.replace("] },\n", "] }\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {\n  "a" 1}}', ":2:7: this is no JSON"),
        ('{"mcpServers": []}', ":1:2: mcpServers must be an object"),
        ("[]", ":1:1: it must be an object"),
    ],
)
def test_a_file_with_a_fault_is_refused_and_stays(zot, project, text, said):
    file = project / ".mcp.json"
    file.write_text(text)
    for command in (["add", "n", "sh"], ["add-json", "n", '{"command": "sh"}']):
        refused = run(zot, "mcp", command[0], "-s", "project", *command[1:], cwd=project)
        assert refused.status == 1
        assert f"{file}{said}" in refused.stderr
    assert run(zot, "mcp", "remove", "n", cwd=project).status == 1
    assert file.read_text() == text


def test_another_entrys_fault_is_its_own(zot, project):
    file = project / ".mcp.json"
    file.write_text('{"servers": {"bad": {"command": 3}}}')
    assert run(zot, "mcp", "add", "n", "-s", "project", "sh", cwd=project).status == 0
    assert json.loads(file.read_text()) == {"servers": {"bad": {"command": 3}, "n": {"command": "sh", "args": []}}}
    assert run(zot, "mcp", "remove", "bad", cwd=project).status == 0
    assert list(json.loads(file.read_text())["servers"]) == ["n"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "n"], "Missing argument 'COMMAND"),
        (["add", "n", "-t", "http", "https://x"], "only stdio servers can be run"),
        (["add", "n", "-e", "=x", "sh"], "--env =x: write KEY=VALUE"),
        (["add", "n", "--timeout", "soon", "sh"], "--timeout: 'soon' is not a length of time"),
        (["add", "", "sh"], "a server needs a name"),
        (["add", "n", "--cwd", "", ""], "command must not be empty"),
        (["add-json", "n", "[]"], "an entry is an object"),
        (["add-json", "n", '{"command": '], "the entry:1:12: this is no JSON"),
        (["add-json", "n", '{"url": "https://x"}'], "only stdio servers can be run"),
        (["add-json", "n", '{"command": "x", "exclude_tool": []}'], "exclude_tool"),
    ],
)
def test_misuse_writes_nothing(zot, words, said):
    refused = run(zot, "mcp", *words)
    assert refused.status == 2
    assert said in refused.stderr
    assert not (zot.home / "mcp.json").exists()


def test_an_entry_from_stdin(zot, tmp_path):
    (tmp_path / "entry").write_text('{"command": "sh"}')
    with (tmp_path / "entry").open() as entry:
        assert run(zot, "mcp", "add-json", "n", "-", stdin=entry.fileno()).status == 0
    assert servers(zot.home / "mcp.json") == {"n": {"command": "sh"}}


def test_two_keys_of_one_name_are_refused(zot):
    run(zot, "mcp", "add", "a/b", "sh")
    refused = run(zot, "mcp", "add", "a_b", "sh")
    assert (refused.status, "would have the name of 'a/b'" in refused.stderr) == (1, True)


def test_in_both_files_one_has_to_be_named(zot, project):
    for scope in ("user", "project"):
        run(zot, "mcp", "add", "n", "-s", scope, "sh", cwd=project)
    refused = run(zot, "mcp", "remove", "n", cwd=project)
    assert (refused.status, "is in both files" in refused.stderr) == (2, True)
    assert run(zot, "mcp", "remove", "n", "-s", "user", cwd=project).status == 0
    assert servers(zot.home / "mcp.json") == {}
    assert list(servers(project / ".mcp.json")) == ["n"]


@pytest.mark.parametrize(
    ("words", "ended"),
    [
        (["n", "npx", "-y", "p"], ["n", "--", "npx", "-y", "p"]),
        (["-e", "A=1", "n", "-s", "user", "npx", "-y"], ["-e", "A=1", "n", "-s", "user", "--", "npx", "-y"]),
        (["n", "--env=A", "--force", "npx", "--", "x"], ["n", "--env=A", "--force", "--", "npx", "--", "x"]),
        (["n", "--", "npx", "-y"], ["n", "--", "npx", "-y"]),
        (["n"], ["n"]),
        (["-e"], ["-e"]),
    ],
)
def test_flags_end_before_the_command(words, ended):
    assert with_end_of_flags(words, {"-e", "--env", "-s", "--scope"}) == ended
