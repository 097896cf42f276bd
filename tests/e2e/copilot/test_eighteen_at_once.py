"""Ten extensions of zot, three Copilot ones and five MCP servers in one run, two of each misbehaving: each costs itself
alone."""

from __future__ import annotations

import pytest

from tests.support.crowd import SERVERS, SOUND, STAYS_DOWN, entry, folders, servers_file
from tests.support.messages_server import text_reply, tool_reply
from wire.events import Extension, ToolResult
from wire.exit_codes import Status

pytestmark = pytest.mark.slow


def test_each_costs_itself_alone(place):
    zot, server = place.zot, place.server
    place.add("guide-tools", required=True)
    place.add("unhandled-rejection", required=True, restart=STAYS_DOWN)
    place.add("never-joins", restart=STAYS_DOWN, timeouts={"hello": 4.0, "intercept": 4.0})
    server.add(
        tool_reply([(name, {}) for name in SOUND]),
        tool_reply([(f"mcp__{name}__echo", {"text": name}) for name in SERVERS]),
        tool_reply([("guide_greet", {"who": "Ada"}), ("guide_run", {"command": "echo ran"})]),
        tool_reply([("die", {}), ("mcp__leaves__leave", {}), ("forget", {})]),
        tool_reply([("guide_greet", {"who": "Bob"}), ("sound0", {}), ("mcp__shell__echo", {"text": "shell"})]),
        tool_reply([("mcp__leaves__echo", {"text": "again"}), ("forget", {})]),
        text_reply("Done."),
    )
    given = [word for path in folders(zot.folder) for word in ("-e", path)]
    given += ["--mcp-config", servers_file(zot.folder, shell=entry("reference.sh"))]
    outcome = zot.run("--json", *place.flags(*given), "go", env={"COLOUR_SCHEME": "dark"}).check(Status.OK)
    told = outcome.tool_texts()
    assert told[:8] == SOUND
    assert told[8:11] == list(SERVERS)
    assert told[11:13] == ["Hello, Ada", "ran\n"]
    assert "something terrible happened" in told[13]
    assert "it ended (exit 0)" in told[14]
    assert "nobody waits for this" in told[15]
    assert told[16:19] == ["Hello, Bob", "sound0", "shell"]
    failed = [result.is_error for result in outcome.of(ToolResult)]
    assert failed == [*[False] * 13, True, True, True, False, False, False, True, True]
    offered = place.offered
    assert {*SOUND, "die", "forget", "guide_greet", "mcp__leaves__leave"} <= offered[0]
    assert {"die", "forget", "mcp__leaves__leave"}.isdisjoint(offered[-1]), "they have gone"
    costs = outcome.result.extensions
    assert len(costs) == 18
    for name in (*SOUND, *SERVERS, "guide-tools"):
        assert (costs[name].state, costs[name].errors, costs[name].timeouts) == ("exited", 0, 0), name
    said = {name: [notice.event for notice in outcome.of(Extension) if notice.extension == name] for name in costs}
    sound = {name: ["started"] for name in (*SOUND, *SERVERS, "guide-tools")}
    dead = {name: ["started", "exited"] for name in ("dies_in_call", "leaves", "unhandled-rejection")}
    late = {name: ["late", "failed"] for name in ("silent", "mute")}
    assert said == {**sound, **dead, **late, "never-joins": ["failed"]}
    recording = zot.folder / "run.jsonl"
    recording.write_bytes(outcome.stdout)
    page = zot.run("report", recording, "-o", "-").text
    assert [name for name in costs if name not in page] == []
