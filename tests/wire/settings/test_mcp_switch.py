"""A server is switched on and off in the text of its file, and nothing else changes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.settings.json_edit import switch_server
from wire.settings.mcp_file import parse_mcp


@pytest.mark.parametrize(
    ("text", "on", "after"),
    [
        (b'{"mcpServers": {"a": {"command": "x"}}}', False,
         b'{"mcpServers": {"a": {"command": "x", "disabled": true}}}'),
        (b'{"mcpServers": {"a": {"command": "x"}}}', True, b'{"mcpServers": {"a": {"command": "x"}}}'),
        (b'{"servers": {"a": { // it\n    "command": "x",\n  },\n}}', False,
         b'{"servers": {"a": { // it\n    "command": "x",\n    "disabled": true\n  },\n}}'),
        (b'{"servers": {"a": {"disabled" : true, "command": "x"}}}', True,
         b'{"servers": {"a": {"disabled" : false, "command": "x"}}}'),
        (b'{"servers": {"a": {"enabled": false, "disabled": true, "command": "x"}}}', True,
         b'{"servers": {"a": {"enabled": true, "disabled": false, "command": "x"}}}'),
        (b'\xef\xbb\xbf{"servers": {"a": {}}}', False, b'\xef\xbb\xbf{"servers": {"a": {"disabled": true}}}'),
        (b'{"servers": {"a": 3}}', False, None),
        (b'{"servers": {"b": {"a": {}}}}', False, None),
    ],
)  # fmt: skip
def test_the_text_afterwards(text: bytes, on: bool, after: bytes | None) -> None:
    assert switch_server(text, "a", on=on) == after


def test_a_long_file() -> None:
    others = b"".join(b'"%d": {"command": "x"}, ' % number for number in range(20_000))
    after = switch_server(b'{"mcpServers": {' + others + b'"a": {}}}', "a", on=False)
    assert after == b'{"mcpServers": {' + others + b'"a": {"disabled": true}}}'


entries = st.fixed_dictionaries(
    {"command": st.just("x")}, optional={"disabled": st.booleans(), "enabled": st.booleans(), "cwd": st.text('{}",: ')}
)


@given(st.dictionaries(st.text(min_size=1, max_size=4), entries, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_one_server_changes(servers: dict[str, Any], on: bool, indented: bool) -> None:
    text = msgspec.json.encode({"mcpServers": servers})
    text = msgspec.json.format(text, indent=2) if indented else text
    key = next(iter(servers))
    after = switch_server(text, key, on=on)
    assert after is not None
    before = {entry.key: entry.server for entry in parse_mcp(text).entries}
    for entry in parse_mcp(after).entries:
        if entry.key == key:
            assert entry.server.is_enabled is on
            assert entry.server.command == before[key].command
            assert entry.server.cwd == before[key].cwd
        else:
            assert entry.server == before[entry.key]
