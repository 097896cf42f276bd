"""A small MCP server, and entries that start it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SERVER = """
import json, os, sys
TOOLS = [
    {"name": "say", "description": "Says it.", "inputSchema": {"type": "object"}},
    {"name": "fail", "description": "Fails.", "inputSchema": {"type": "object"}},
    {"name": "odd", "inputSchema": {"anyOf": []}},
]
if "large" in sys.argv:
    TOOLS.append({"name": "large", "description": "d" * 60_000, "inputSchema": {"type": "object"}})
    TOOLS[0]["description"] = "d" * 60_000
sys.stderr.write("line one\\nline two\\n")
if "die" in sys.argv:
    sys.exit("no such module")
for line in sys.stdin:
    asked = json.loads(line)
    method, result = asked.get("method"), {}
    if "mute" in sys.argv or "id" not in asked:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "prompts": {}},
                  "serverInfo": {"name": "small-server", "version": "3.1"}, "instructions": "Ask it nicely."}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "prompts/list":
        result = {"prompts": [{"name": "greet", "description": "Greets."}]}
    elif method == "tools/call":
        failed = asked["params"]["name"] == "fail"
        text = os.environ.get("TOKEN", "") + json.dumps(asked["params"]["arguments"])
        result = {"content": [{"type": "text", "text": text}], "isError": failed}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


@pytest.fixture
def server(tmp_path: Path) -> list[str]:
    """The command line of a server with two tools, one more that cannot be used, and a prompt. Further words: `large`
    definitions, `die` at the start, `mute`."""
    script = tmp_path / "small_server.py"
    script.write_text(SERVER)
    return [sys.executable, "-I", "-S", str(script)]


def write(file: Path, **entries: object) -> Path:
    """A file with these entries."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"mcpServers": entries}, indent=2))
    return file


def entry(command: list[str], *words: str, **fields: object) -> dict[str, object]:
    return {"command": command[0], "args": [*command[1:], *words], **fields}
