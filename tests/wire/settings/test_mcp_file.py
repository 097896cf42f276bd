"""A bad entry of an MCP file costs only itself; each fault names its field and its place."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.manifest import NAME_PATTERN, Manifest
from wire.settings.mcp_file import SERVERS_LIMIT, McpFileError, at, parse_mcp
from wire.settings.mcp_server import server_name


def _text(**servers: Any) -> bytes:
    return msgspec.json.encode({"mcpServers": servers})


def _only(**fields: Any) -> Any:
    return parse_mcp(_text(one={"command": "x", **fields}))


def test_a_file_with_all_fields() -> None:
    file = parse_mcp(
        b"""{
        // of the project
        "mcpServers": {"one": {"type": "stdio", "command": "${BIN:-node}", "args": ["s.js", "${TOKEN}"],
            "env": {"A": "${env:B}", "PORT": 8080}, "cwd": "${workspaceFolder}/sub", "timeout": 90000,
            "startup_timeout_sec": 20, "includeTools": ["a"], "exclude_tools": ["b"], "required": true,
            "limits": {"rss_mb": 100}, "restart": {"max": 2}, "timeouts": {"ready": 4}, "instructions": false,
            "env_policy": "inherit", "description": "One.", "sessions": "shared", "start": "lazy",
            "idle_stop_s": 60}},
        "servers": {"two": {"command": "y"},},
        }"""
    )
    one, two = file.entries
    assert file.faults == ()
    assert file.remark == ""
    assert one.remark == ""
    assert one.place is not None
    assert at("f", one.place) == "f:3:24"
    assert one.manifest_fields == {
        "name": "one", "exec": "${BIN:-node}", "args": ("s.js", "${TOKEN}"), "env": ("BIN", "TOKEN", "B"),
        "env_policy": "inherit", "timeouts": {"tool_call": 90.0, "hello": 20, "ready": 4}, "limits": {"rss_mb": 100},
        "restart": {"max": 2}, "required": True, "description": "One.", "sessions": "shared", "start": "lazy",
        "idle_stop_s": 60,
    }  # fmt: skip
    msgspec.convert(one.manifest_fields, Manifest)
    assert one.server.include_tools == ("a",)
    assert one.server.exclude_tools == ("b",)
    assert not one.server.instructions
    assert two.manifest_fields["env_policy"] == "minimal"
    assert two.manifest_fields["timeouts"] == {}
    assert two.server.include_tools is None
    assert two.server.is_enabled


BAD = [
    ({"command": 3}, "command: expected str, got int"),
    ({"command": ""}, "command must not be empty"),
    ({"command": "a\0"}, "command: must not contain NUL"),
    ({"command": None}, "command is required"),
    ({"cmd": "x"}, "command is required; rename 'cmd'"),
    ({"command": "x", "args": [1]}, "args[0]: expected str, got int"),
    ({"command": "x", "args": "y"}, "args: expected array, got str"),
    ({"command": "x", "args": ["\0"]}, "args[0]: must not contain NUL"),
    ({"command": "x", "env": []}, "env: expected object, got array"),
    ({"command": "x", "env": {"A=B": "1"}}, "env: 'A=B' is no name of a variable"),
    ({"command": "x", "env": {"": "1"}}, "env: '' is no name of a variable"),
    ({"command": "x", "env": {"A": True}}, "env.A: expected text or a number"),
    ({"command": "x", "cwd": 1}, "cwd: expected str, got int"),
    ({"command": "x", "type": 3}, "type: expected str, got int"),
    ({"type": "http", "url": "https://x"}, "its type is 'http': only stdio"),
    ({"url": "https://x"}, "it has an address and no command"),
    ({"command": "x", "timeout": 0}, "timeout: expected float > 0.0"),
    ({"command": "x", "tool_timeout_sec": "1"}, "tool_timeout_sec: expected float, got str"),
    ({"command": "x", "limits": {"rss": 3}}, "limits.rss: no such field; did you mean 'rss_mb'?"),
    ({"command": "x", "timeouts": {"tool_cal": 3}}, "timeouts.tool_cal: no such field"),
    ({"command": "x", "timeouts": {"tool_call": -3}}, "timeouts.tool_call: expected float > 0.0"),
    ({"command": "x", "restart": {"policy": "always"}}, "restart.policy: 'always' is not one of"),
    ({"command": "x", "env_policy": "all"}, "env_policy: 'all' is not one of"),
    ({"command": "x", "excludedTools": ["a"]}, "excludedTools: no such field; did you mean 'excludeTools'?"),
    ({"command": "x", "enabled_tools": "a"}, "enabled_tools: expected a list of names"),
    ({"command": "x", "isDisabled": True}, "isDisabled: no such field; did you mean 'disabled'?"),
    ({"command": "x", "resource_limits": {}}, "did you mean 'limits'?"),
    ({"command": "x", "disabled": "yes"}, "disabled: expected bool, got str"),
    ([], 'must be an object, {"command": …}'),
    ("x", "must be an object"),
    (None, "must be an object"),
]


@pytest.mark.parametrize(("fields", "said"), BAD)
def test_a_bad_entry_costs_only_itself(fields: Any, said: str) -> None:
    file = parse_mcp(_text(good={"command": "x"}, bad=fields, other={"command": "y"}))
    assert [entry.name for entry in file.entries] == ["good", "other"]
    [fault] = file.faults
    assert fault.key == "bad"
    assert said in fault.message
    assert fault.place is not None
    assert fault.place.line == 1


def test_a_fault_has_the_place_of_its_field() -> None:
    [fault] = parse_mcp(b'{"servers": {\n "a.b": {"command": "x",\n  "args": [\n   3]}}}').faults
    assert fault.place is not None
    assert fault.place[:2] == (4, 4)


NO_FILES = [
    (b"", "1:1: this is no JSON: it is empty"),
    (b"[]", '1:1: it must be an object, {"mcpServers": { … }}'),
    (b'{"mcp": {}}', '1:1: it has neither "mcpServers" nor "servers"'),
    (b'{\n "mcpServers": []}', "2:2: mcpServers must be an object"),
    (b'{"mcpServers": {}, "mcpServers": {}}', "mcpServers is there twice"),
    (b'{"mcpServers": {"a": {"command": "x" "args": []}}}', "1:38: this is no JSON: expected ','"),
    (b'{"mcpServers": {"\xff": 1}}', "1:18: this is no JSON: this is not UTF-8"),
    (b"{" * 100_000, "this is no JSON"),
    (b'{"a":' * 5000 + b"1" + b"}" * 5000, "this is no JSON: nested too deeply"),
]


@pytest.mark.parametrize(("text", "said"), NO_FILES)
def test_a_file_that_is_no_such_file(text: bytes, said: str) -> None:
    with pytest.raises(McpFileError) as caught:
        parse_mcp(text)
    assert said in str(caught.value)
    assert not caught.value.may_be_needed


def test_a_file_has_a_limit_of_servers() -> None:
    text = b'{"servers": {' + b",".join(b'"s%d": 5' % number for number in range(SERVERS_LIMIT + 1)) + b"}}"
    with pytest.raises(McpFileError, match="servers has 501 servers, at most 500"):
        parse_mcp(text)


def test_a_broken_file_that_may_have_a_required_server() -> None:
    with pytest.raises(McpFileError) as caught:
        parse_mcp(b'{"mcpServers": {"a": {"command": "x", "required": true')
    assert caught.value.may_be_needed


def test_an_empty_file_has_no_servers() -> None:
    assert parse_mcp(b"{}").entries == ()


def test_names_that_are_there_twice() -> None:
    file = parse_mcp(
        b'{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}, "b": {"command": "x", "args": [], "args": []},'
        b'"c": {"command": "x", "env": {"A": "1", "A": "2"}}, "d/e": {"command": "x"}, "d_e": {"command": "y"}},'
        b'"servers": {"d/e": {"command": "z"}}}'
    )
    assert [entry.key for entry in file.entries] == ["d/e"]
    assert [(fault.key, fault.message) for fault in file.faults] == [
        ("a", "it is there twice, and only one of them would count; remove the other"),
        ("b", "args is there twice, and only one of them would count; remove the other"),
        ("c", "env.A is there twice, and only one of them would count; remove the other"),
        ("d_e", "the name 'd_e' is that of 'd/e' too; the first counts; rename the other"),
        ("d/e", "the name 'd/e' is there twice, in mcpServers and in servers; the first counts"),
    ]


def test_fields_of_other_programs_are_named() -> None:
    file = parse_mcp(
        b'{"inputs": [], "mcpServers": {"a": {"command": "x", "alwaysAllow": [], "envFile": ".env", "trust": true}},'
        b'"theme": "dark"}'
    )
    assert file.entries[0].remark == "nothing reads the fields 'alwaysAllow', 'envFile', 'trust'"
    assert file.remark == "nothing reads the field 'theme'"


def test_a_short_timeout_is_remarked() -> None:
    assert _only(timeout=60).entries[0].remark == "timeout is in milliseconds: 60 is 0.06 s"


def test_times() -> None:
    assert _only(timeout=1e12).entries[0].manifest_fields["timeouts"] == {"tool_call": 86_400.0}
    both = _only(timeout=5000, tool_timeout_sec=7, timeouts={"hello": 3}, startup_timeout_sec=9)
    assert both.entries[0].manifest_fields["timeouts"] == {"tool_call": 7.0, "hello": 3}


@pytest.mark.parametrize(("fields", "on"), [({"disabled": True}, False), ({"enabled": False}, False), ({}, True)])
def test_switched_off(fields: dict[str, Any], on: bool) -> None:
    assert _only(**fields).entries[0].server.is_enabled is on
    [fault] = parse_mcp(_text(one={"command": 3, "required": True, **fields})).faults
    assert fault.is_disabled is not on
    assert fault.may_be_needed is on


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("github", "github"),
        ("io.github.foo/bar", "io.github.foo_bar"),
        ("My Server", "My Server"),
        (".hidden", "_hidden"),
        ("..", "_."),
        ("a\\b\tc", "a_b_c"),
        ("x" * 65, "x" * 55 + "_" + "9537c5fd"),
    ],
)
def test_names_in_the_wild(key: str, name: str) -> None:
    assert server_name(key) == name


@given(st.text(min_size=1, max_size=200))
def test_every_key_gets_a_name_that_fits_or_is_refused(key: str) -> None:
    file = parse_mcp(_text(**{key: {"command": "x"}}))
    for entry in file.entries:
        msgspec.convert({"name": entry.name, "exec": "x"}, Manifest)
    assert len(file.entries) + len(file.faults) == 1
    assert not file.faults or not key.strip() or not file.faults[0].name.strip("?")
    assert NAME_PATTERN


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
fields_of_entries = st.dictionaries(
    st.sampled_from(
        ["command", "args", "env", "cwd", "type", "url", "timeout", "disabled", "includeTools", "enabled_tools",
         "limits", "restart", "timeouts", "env_policy", "required", "headers", "startup_timeout_sec", "instructions"]
    ),
    json_values,
)  # fmt: skip


@given(st.dictionaries(st.text(max_size=8), fields_of_entries | json_values, max_size=5))
def test_any_servers_become_an_entry_or_a_fault_each(servers: dict[str, Any]) -> None:
    file = parse_mcp(_text(**servers))
    assert len(file.entries) + len(file.faults) == len(servers)
    for entry in file.entries:
        msgspec.convert(entry.manifest_fields, Manifest)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    try:
        parse_mcp(text)
    except McpFileError:
        pass
