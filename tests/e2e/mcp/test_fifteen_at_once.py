"""Ten extensions of zot and five MCP servers in one run, two of each misbehaving: each costs itself alone."""

from __future__ import annotations

import pytest

from tests.support.crowd import AWAITED, SERVERS, SOUND, folders, servers_file
from tests.support.mcp_servers import server_folder
from tests.support.messages_server import text_reply, tool_reply
from wire.events import Extension, ToolResult
from wire.exit_codes import Status


@pytest.mark.slow
def test_each_costs_itself_alone(zot, server):
    server.add(
        tool_reply([(name, {}) for name in SOUND]),
        tool_reply([(f"mcp__{name}__echo", {"text": name}) for name in SERVERS]),
        tool_reply([("die", {}), ("mcp__leaves__leave", {})]),
        tool_reply([("mcp__reference__pongs", {}), ("sound0", {}), ("mcp__leaves__echo", {"text": "again"})]),
        tool_reply([("mcp__modern__environment", {})]),
        text_reply("Done."),
    )
    shell = server_folder(zot.folder, "shell", "reference.sh", **AWAITED)
    flags = [word for path in (*folders(zot.folder), shell) for word in ("-e", path)]
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
