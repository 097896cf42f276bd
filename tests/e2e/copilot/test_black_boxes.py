"""The black box of a Copilot extension that ends in a call, and its replay."""

from __future__ import annotations

import json

import pytest

from wire.traces.black_box import decode


@pytest.mark.slow
def test_one_that_ends_in_a_call_ends_again(place):
    (place.zot.home / "config.json").write_text(json.dumps({"black_box": "full"}))
    place.add("exits-in-call", restart={"policy": "temporary"})
    place.results(("leave", {"status": 4}))
    (path,) = (place.zot.home / "runs").glob("*.box.jsonl")
    box = decode(path.read_bytes())
    assert (box.header.dialect, box.header.cause) == ("copilot", "exit 4")
    call = box.header.last_call
    assert call is not None
    assert (call.type, call.name) == ("tool_call", "leave")
    assert [frame.kind for frame in box.frames if frame.name == "leave"][-1] == "external_tool.requested"
    trust = place.zot.run("ext", "trust", "exits-in-call", "--yes")
    assert trust.status == 0, trust.text
    again = place.zot.run("ext", "replay", path, "exits-in-call")
    number = len(box.frames)
    assert again.text.strip() == f"falls again: exit 4 after frame {number} (external_tool.requested leave)"
    assert again.status == 1
