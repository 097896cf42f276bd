"""Ten extensions of zot and five MCP servers in one run, two of each misbehaving: each costs itself alone."""

from __future__ import annotations

import json
import sys

from tests.support.extension_folder import extension, folder
from tests.support.mcp_servers import server_argv, server_folder
from tests.support.messages_server import text_reply, tool_reply
from wire.events import Extension, ToolResult
from wire.exit_codes import Status

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
    for name in SOUND:
        yield folder(place, name, [sys.executable, "-I", "-S", "-c", SAY, name], **AWAITED)
    yield extension(place, "dies_in_call", **AWAITED, restart=STAYS_DOWN)
    yield extension(place, "silent", timeouts=NEVER)
    yield server_folder(place, "shell", "reference.sh", **AWAITED)


def servers_file(place):
    """A file of servers as users have them."""
    entries = {
        "reference": entry("reference.py --early --pings 5000 --changes 4"),
        "modern": entry("reference.py --era modern --pages 3"),
        "leaves": entry("faulty.py exits-in-call", restart=STAYS_DOWN),
        "mute": entry("faulty.py never-answers", timeouts=NEVER, required=False),
    }
    file = place / "servers.json"
    file.write_text(json.dumps({"mcpServers": entries}))
    return file


def entry(server, **fields):
    command, *args = server_argv(server)
    return {"command": command, "args": args, **AWAITED, **fields}


def test_each_costs_itself_alone(zot, server):
    server.add(
        tool_reply([(name, {}) for name in SOUND]),
        tool_reply([(f"mcp__{name}__echo", {"text": name}) for name in SERVERS]),
        tool_reply([("die", {}), ("mcp__leaves__leave", {})]),
        tool_reply([("mcp__reference__pongs", {}), ("sound0", {}), ("mcp__leaves__echo", {"text": "again"})]),
        tool_reply([("mcp__modern__environment", {})]),
        text_reply("Done."),
    )
    flags = [word for path in folders(zot.folder) for word in ("-e", path)]
    flags += ["--mcp-config", servers_file(zot.folder)]
    outcome = zot.run("--json", "--base-url", server.base_url, *flags, "go", env={"COLOUR_SCHEME": "dark"}).check(
        Status.OK
    )
    told = outcome.tool_texts()
    assert told[:8] == SOUND
    assert told[8:11] == list(SERVERS)
    assert "something terrible happened" in told[11]
    assert "it ended (exit 0)" in told[12]
    assert told[13:15] == ["5000", "sound0"]
    failed = [result.is_error for result in outcome.of(ToolResult)]
    assert failed == [*[False] * 11, True, True, False, False, True, False]
    assert '"PATH"' in told[16]
    assert "COLOUR_SCHEME" not in told[16]
    offered = [{tool["name"] for tool in request.body["tools"]} for request in server.requests]
    assert {*SOUND, "die", "mcp__leaves__leave", *(f"mcp__{name}__echo" for name in SERVERS)} <= offered[0]
    assert "mcp__leaves__leave" not in offered[-1], "it has gone"
    costs = outcome.result.extensions
    assert len(costs) == 15
    for name in (*SOUND, *SERVERS):
        assert (costs[name].state, costs[name].errors, costs[name].timeouts) == ("exited", 0, 0), name
    said = {name: [notice.event for notice in outcome.of(Extension) if notice.extension == name] for name in costs}
    sound = {name: ["started"] for name in (*SOUND, *SERVERS)}
    dead = {name: ["started", "exited"] for name in ("dies_in_call", "leaves")}
    assert said == {**sound, **dead, "silent": ["late", "failed"], "mute": ["late", "failed"]}
    for notice in outcome.of(Extension):
        assert notice.event != "failed" or " s of the run; stopped with it" in notice.message, "nobody waited for it"
    recording = zot.folder / "run.jsonl"
    recording.write_bytes(outcome.stdout)
    page = zot.run("report", recording, "-o", "-").text
    assert [name for name in costs if name not in page] == []
