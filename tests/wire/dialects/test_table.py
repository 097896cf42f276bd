"""The table of dialects: the one that a manifest names, the defaults that it brings, and how one is added."""

from __future__ import annotations

import json

import pytest

from wire.dialects import table
from wire.dialects.base import HOOK_POINTS, DialectSession, Setup
from wire.manifest import ManifestError, parse_manifest
from wire.settings.manifest_faults import all_faults


def test_a_dialect_brings_its_defaults_where_the_manifest_has_none():
    plain = parse_manifest(b'{"name":"a","exec":"x"}')
    assert (plain.dialect, plain.restart.policy) == ("zot", "transient")
    assert (plain.timeouts.ready, plain.env_policy) == (3, None)
    server = parse_manifest(b'{"name":"a","exec":"x","dialect":"mcp","timeouts":{"hello":7}}')
    assert (server.restart.policy, server.env_policy) == ("permanent", "minimal")
    assert (server.timeouts.hello, server.timeouts.ready, server.timeouts.tool_call) == (7, 10, 60)
    own = parse_manifest(b'{"name":"a","exec":"x","dialect":"mcp","env_policy":"inherit","restart":{"max":2}}')
    assert (own.env_policy, own.restart.max, own.restart.policy) == ("inherit", 2, "permanent")


@pytest.mark.parametrize("name", ["", "MCP", "acp", "mcp\n"])
def test_an_unknown_dialect_is_refused_with_the_known_ones(name: str):
    text = json.dumps({"name": "a", "exec": "x", "dialect": name}).encode()
    with pytest.raises(ManifestError, match="dialect: must be one of zot, mcp, copilot"):
        parse_manifest(text)
    assert [fault.message for fault in all_faults(text)] == ["dialect: must be one of zot, mcp, copilot"]


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.setattr(table, "MODULES", known := dict(table.MODULES))
    monkeypatch.setattr("wire.manifest.MODULES", known)
    return known


@pytest.mark.parametrize("name", table.MODULES)
def test_each_dialect_offers_what_the_contract_names(name):
    dialect = table.find_dialect(name)
    offered = {
        *DialectSession.__annotations__,
        *(member for member in vars(DialectSession) if not member.startswith("_")),
    }
    session = dialect.session(Setup("desk", "1.2", 1024))
    assert [member for member in offered if not hasattr(session, member)] == []
    assert dialect.guardable <= HOOK_POINTS
    assert parse_manifest(b'{"name":"a","exec":"x","dialect":"%b"}' % name.encode()).dialect == name


def test_a_dialect_that_is_added_may_be_named_in_manifests(modules):
    table.add("copy", "wire.dialects.zot")
    table.add("copy", "wire.dialects.zot")
    assert table.find_dialect("copy") is table.find_dialect("zot")
    assert parse_manifest(b'{"name":"a","exec":"x","dialect":"copy"}').dialect == "copy"


def test_a_name_is_not_taken_from_a_dialect_that_has_it(modules):
    with pytest.raises(ValueError, match=r"the dialect zot is that of wire\.dialects\.zot"):
        table.add("zot", "elsewhere")
    assert modules["zot"] == "wire.dialects.zot"
