"""Extensions and MCP servers for one run, two of each misbehaving."""

from __future__ import annotations

import json
import sys

from tests.support.extension_folder import child_argv, extension, folder
from tests.support.mcp_servers import server_argv

SOUND = [f"sound{number}" for number in range(8)]
SAY = """
import json, sys
def send(**frame): print(json.dumps(frame), flush=True)
name = sys.argv[1]
send(type="hello", name=name)
send(type="register_tool", name=name, schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": name}])
    elif frame["type"] == "shutdown":
        break
"""
SERVERS = ("reference", "modern", "shell")
AWAITED = {"required": True, "timeouts": {"hello": 30, "ready": 30}}
NEVER = {"hello": 300, "ready": 300}
"""Of what never says a word: a run does not wait that long."""
STAYS_DOWN = {"policy": "temporary"}


def folders(place):
    """Extensions of zot: eight sound ones, one that dies in a call, one that says nothing."""
    for name in SOUND:
        yield folder(place, name, [sys.executable, "-I", "-S", "-c", SAY, name], **AWAITED)
    yield extension(place, "dies_in_call", **AWAITED, restart=STAYS_DOWN)
    yield extension(place, "silent", timeouts=NEVER)


def servers_file(place, **more):
    """A file of servers as users have them: two sound ones, one that exits in a call, one that never answers."""
    entries = {
        "reference": entry("reference.py --early --pings 5000 --changes 4"),
        "modern": entry("reference.py --era modern --pages 3"),
        "leaves": entry("faulty.py exits-in-call", restart=STAYS_DOWN),
        "mute": entry(child_argv("silent", wire="mcp"), timeouts=NEVER, required=False),
        **more,
    }
    file = place / "servers.json"
    file.write_text(json.dumps({"mcpServers": entries}))
    return file


def entry(server, **fields):
    command, *args = server_argv(server) if isinstance(server, str) else server
    return {"command": command, "args": args, **AWAITED, **fields}
