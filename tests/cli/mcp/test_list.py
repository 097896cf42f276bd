"""`zot mcp list` and `get`: what they tell of entries, sound and faulty, without starting any."""

from __future__ import annotations

import pytest

from cli.mcp.entries import HIDDEN, hidden_arguments
from supervisor.discovery.found_extension import Scope
from supervisor.discovery.mcp.servers import expand_variables, read_servers
from supervisor.discovery.trust_store import TrustStore
from supervisor.home.config import Config
from tests.cli.mcp.conftest import entry, write
from tests.support.install_sources import source
from tests.support.zot_fork import run


def test_nothing_is_said_on_stderr(zot):
    told = run(zot, "mcp", "list")
    assert (told.status, told.stdout) == (0, b"")
    assert told.stderr == "no MCP servers; zot mcp add NAME -- COMMAND adds one\n"
    assert not zot.home.exists()


def test_each_entry_has_its_state(zot):
    write(
        zot.cwd / ".mcp.json",
        new={"command": "sh"},
        gone={"command": "sh", "disabled": True},
        bad={"comand": "sh"},
    )  # fmt: skip
    write(
        zot.home / "mcp.json",
        new={"command": "other"},
        gone={"command": "sh", "args": ["--token", "abc", "x y"]},
        poor={"command": "sh", "env": {"A": "${NOT_SET_ANYWHERE}"}},
        web={"url": "https://x"},
    )  # fmt: skip
    told = run(zot, "mcp", "list")
    assert told.status == 0
    rows = {tuple(line.split()[:3]) for line in told.text.splitlines()[1:8]}
    assert rows == {
        ("project", "new", "untrusted"), ("project", "gone", "disabled"), ("project", "bad", "faulty"),
        ("user", "new", "ok"), ("user", "gone", "ok"), ("user", "poor", "unset"), ("user", "web", "faulty"),
    }  # fmt: skip
    assert "sh --token '(hidden)' 'x y'" in told.text
    assert f"bad: {zot.cwd}/.mcp.json:10:5: " in told.text
    assert "new: never seen: zot ext trust new\n" in told.text
    assert "poor: " in told.text
    assert "the variable NOT_SET_ANYWHERE is not set" in told.text
    lines = run(zot, "mcp", "list", "--json").json_lines
    assert [line["name"] for line in lines] == ["new", "gone", "bad", "new", "gone", "poor", "web"]
    assert lines[4] == {
        "name": "gone", "scope": "user", "file": f"{zot.home}/mcp.json", "state": "ok", "why": None, "command": "sh",
        "args": ["--token", HIDDEN, "x y"], "tools": None, "definition_tokens": None,
    }  # fmt: skip


def test_the_server_that_zot_itself_is_has_a_state_of_its_own(zot):
    write(zot.cwd / ".mcp.json", own={"command": "zot", "args": ["mcp", "serve", "-q"]}, other={"command": "sh"})
    own, other = run(zot, "mcp", "list", "--json").json_lines
    assert (own["state"], other["state"]) == ("itself", "untrusted")
    assert "whose extensions zot starts itself" in own["why"]


def test_a_variable_that_no_server_gets_counts_as_unset(zot, monkeypatch):
    monkeypatch.setenv("ZOTCORE_RPC_TOKEN", "t")
    write(zot.home / "mcp.json", a={"command": "sh", "args": ["${ZOTCORE_RPC_TOKEN}"]})
    (line,) = run(zot, "mcp", "list", "--json").json_lines
    assert (line["state"], line["name"]) == ("unset", "a")
    assert "args[0]: the variable ZOTCORE_RPC_TOKEN is not set" in line["why"]


def test_a_link_that_leads_nowhere_is_said(zot):
    (zot.cwd / ".mcp.json").symlink_to("gone.json")
    told = run(zot, "mcp", "list")
    assert told.status == 1
    assert told.stderr == f"zot mcp list: {zot.cwd}/.mcp.json: cannot be read: No such file or directory\n"


def test_a_file_that_cannot_be_read_costs_only_itself(zot):
    (zot.cwd / ".mcp.json").write_text("{")
    write(zot.home / "mcp.json", a={"command": "sh"})
    told = run(zot, "mcp", "list")
    assert told.status == 1
    assert f"{zot.cwd}/.mcp.json:1:2: this is no JSON" in told.stderr
    assert "user" in told.text


def test_get_tells_where_it_is_from_and_what_is_filled_in(zot, monkeypatch):
    zot.env["DB_PASSWORD"] = "pw-1"
    zot.env["PLACE"] = "/srv"
    env = {"DB_PASSWORD": "${DB_PASSWORD}", "API_KEY": "literal-1", "MODE": "fast"}
    fields = {"env": env, "args": ["--root", "${PLACE}", "--opt", "${NONE_AT_ALL:-x}"], "timeout": 5000, "of_others": 1}
    write(zot.home / "mcp.json", db={"command": "sh", **fields, "excludeTools": ["drop"]})
    told = run(zot, "mcp", "get", "db")
    assert told.status == 0
    for line in (
        f"from          {zot.home}/mcp.json:3:5 (user)",
        "command line  sh --root '${PLACE}' --opt '${NONE_AT_ALL:-x}'",
        "env           DB_PASSWORD=${DB_PASSWORD}",
        "env           API_KEY=(hidden)",
        "env           MODE=fast",
        "filled in     ${PLACE} becomes /srv",
        "filled in     ${DB_PASSWORD} becomes (hidden)",
        "filled in     ${NONE_AT_ALL} becomes nothing: it is not set",
        "times         tool_call 5 s",
        "without tools drop",
        "definitions   unknown: it has not run yet; zot mcp test db",
    ):
        assert line in told.text
    assert "of_others" in told.text
    (record,) = run(zot, "mcp", "get", "db", "--json").json_lines
    assert record["variables"] == {"PLACE": "/srv", "NONE_AT_ALL": None, "DB_PASSWORD": HIDDEN}
    assert (record["state"], record["env"]["API_KEY"], record["fields"]["timeout"]) == ("ok", HIDDEN, 5000)
    for secret in ("pw-1", "literal-1"):
        assert secret not in told.text + str(record)


def test_get_of_a_faulty_one_and_of_none(zot):
    write(zot.home / "mcp.json", bad={"comand": "sh"})
    told = run(zot, "mcp", "get", "bad")
    assert (told.status, "state         faulty: " in told.text) == (0, True)
    unknown = run(zot, "mcp", "get", "bda")
    assert (unknown.status, "no such MCP server: 'bda'" in unknown.stderr) == (2, True)
    assert "no MCP server 'bad' of scope project" in run(zot, "mcp", "get", "bad", "-s", "project").stderr


def test_names_are_completed(zot, server):
    write(zot.cwd / ".mcp.json", first=entry(server), bad={})
    write(zot.home / "mcp.json", second=entry(server))
    asked = {"_ZOT_COMPLETE": "complete_bash", "COMP_WORDS": "zot mcp get ", "COMP_CWORD": "3"}
    assert zot.run(env=asked).text.split() == ["bad", "first", "second"]


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (["--api-key", "k", "x"], ["--api-key", HIDDEN, "x"]),
        (["--api-key=k", "--plain=k"], [f"--api-key={HIDDEN}", "--plain=k"]),
        (["--token", "--other", "x"], ["--token", "--other", "x"]),
        (["--token", "${T}"], ["--token", "${T}"]),
        (["ghp_abc", "postgres://u:pw@h/d", "plain"], [HIDDEN, HIDDEN, "plain"]),
    ],
)
def test_secrets_among_arguments_are_hidden(args, shown):
    assert hidden_arguments(args, Config()) == shown


def test_of_two_with_one_name_the_first_that_can_be_started_has_it(zot):
    write(zot.cwd / ".mcp.json", n={"command": "sh"})
    write(zot.home / "mcp.json", n={"command": "other"}, m={"command": "sh"})
    source(zot.home / "extensions" / "m", name="m")
    states = [line["state"] for line in run(zot, "mcp", "list", "--json").json_lines]
    assert states == ["untrusted", "ok", "hidden"]
    assert run(zot, "mcp", "get", "n", "--json").json_lines[0]["scope"] == "user"
    (found,) = read_servers(zot.cwd / ".mcp.json", Scope.PROJECT, zot.cwd)
    trusted = expand_variables(found, {})
    TrustStore(zot.home).trust(trusted.place, trusted.manifest, found=trusted)
    told = run(zot, "mcp", "list").text
    assert [line.split()[2] for line in told.splitlines()[1:4]] == ["ok", "hidden", "hidden"]
    assert f"m: {zot.home}/mcp.json:6:5: the name is taken by {zot.home}/extensions/m\n" in told
