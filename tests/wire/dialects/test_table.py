"""The dialect that a manifest names, and the defaults that it brings."""

from __future__ import annotations

import json

import pytest

from wire.manifest import ManifestError, all_faults, parse_manifest


def test_a_dialect_brings_its_defaults_where_the_manifest_has_none():
    plain = parse_manifest(b'{"name":"a","exec":"x"}')
    assert (plain.dialect, plain.restart.policy) == ("zot", "transient")
    assert (plain.timeouts.ready, plain.env_policy) == (3, None)
    server = parse_manifest(b'{"name":"a","exec":"x","dialect":"mcp","timeouts":{"hello":7}}')
    assert (server.restart.policy, server.env_policy) == ("permanent", "minimal")
    assert (server.timeouts.hello, server.timeouts.ready, server.timeouts.tool_call) == (7, 10, 60)
    own = parse_manifest(
        b'{"name":"a","exec":"x","dialect":"mcp","env_policy":"inherit","restart":{"max":2}}'
    )
    assert (own.env_policy, own.restart.max, own.restart.policy) == ("inherit", 2, "permanent")


@pytest.mark.parametrize("name", ["", "MCP", "acp", "mcp\n"])
def test_an_unknown_dialect_is_refused_with_the_known_ones(name: str):
    text = json.dumps({"name": "a", "exec": "x", "dialect": name}).encode()
    with pytest.raises(ManifestError, match="dialect: none of zot, mcp"):
        parse_manifest(text)
    assert [fault.message for fault in all_faults(text)] == ["dialect: none of zot, mcp"]
