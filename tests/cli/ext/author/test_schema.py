"""`zot ext schema`: the schemas of the manifest and of frames."""

from __future__ import annotations

import json


def test_schemas_of_the_manifest_and_of_frames_are_listed_and_printed(zot):
    listed = zot.run("ext", "schema").text.splitlines()
    names = [line.split()[0] for line in listed]
    assert [record["name"] for record in zot.run("ext", "schema", "--json").json_lines] == names
    (schema,) = zot.run("ext", "schema", "manifest", "--json").json_lines
    assert schema == json.loads(zot.run("ext", "schema", "manifest").text)
    assert names[0] == "manifest"
    assert {"frame.register_tool", "frame.from-host"} <= set(names)
    assert not any(name.startswith("event") for name in names)
    assert json.loads(zot.run("ext", "schema", "manifest").stdout)["title"] == "extension.json"
    assert json.loads(zot.run("ext", "schema", "register_tool").stdout)["title"] == "frame register_tool"


def test_an_unknown_name_gets_a_suggestion(zot):
    outcome = zot.run("ext", "schema", "tool_cal")
    assert outcome.status == 2
    assert "did you mean 'tool_call'?" in outcome.stderr
