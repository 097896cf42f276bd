"""Four MCP servers that others have published, three for Node and one for Python, under one host."""

from __future__ import annotations

import json

import pytest

from supervisor.extension.lifecycle import WorkerState
from tests.support.host import Host
from tests.support.mcp_servers import add_published, published

pytestmark = pytest.mark.slow
NAMES = ("everything", "filesystem", "memory", "time")
TIMES = {"hello": 120, "ready": 60, "tool_call": 60}


@pytest.fixture
def host(tmp_path, monkeypatch):
    """All four, started."""
    commands = dict(zip(NAMES, published(*NAMES), strict=True))
    commands["filesystem"].append(str(tmp_path))
    monkeypatch.setenv("MEMORY_FILE_PATH", str(tmp_path / "memory.jsonl"))
    with Host(tmp_path) as host:
        for name, argv in commands.items():
            add_published(host, name, argv, timeouts=TIMES)
        host.start()
        yield host


def test_each_is_ready_and_its_tools_answer(host, tmp_path):
    assert {name: host.state(name) for name in NAMES} == dict.fromkeys(NAMES, WorkerState.READY)
    tools = {name: {tool for tool in host.tools() if tool.startswith(f"mcp__{name}__")} for name in NAMES}
    assert {name: len(found) >= 2 for name, found in tools.items()} == dict.fromkeys(NAMES, True), tools

    assert host.text("mcp__everything__echo", message="hello") == "Echo: hello"
    assert "5" in host.text("mcp__everything__get-sum", a=2, b=3)
    (image,) = [block for block in host.call("mcp__everything__get-tiny-image").frame.content if block.type == "image"]
    assert image.mime_type == "image/png"
    done = host.text("mcp__everything__trigger-long-running-operation", duration=1, steps=2)
    assert "completed" in done

    (tmp_path / "notes.txt").write_text("written by the test\n")
    path = str(tmp_path / "notes.txt")
    assert "written by the test" in host.text("mcp__filesystem__read_text_file", path=path)
    refused = host.call("mcp__filesystem__read_text_file", path="/etc/passwd").frame
    assert refused.is_error
    assert "Access denied" in refused.content[0].text

    ada = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
    host.text("mcp__memory__create_entities", entities=[ada])
    assert "wrote the first program" in host.text("mcp__memory__read_graph")
    assert "Ada" in (tmp_path / "memory.jsonl").read_text()

    asked = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    converted = json.loads(host.text("mcp__time__convert_time", **asked))
    assert "T21:00:00" in converted["target"]["datetime"]
    wrong = host.call("mcp__time__get_current_time", timezone="Mars/Olympus").frame
    assert wrong.is_error

    for name in NAMES:
        assert host.cost(name).junk_lines == 0, host.log(name)
    said = {name: [text for _, text in host.said_of(name)] for name in NAMES}
    (left_out,) = said.pop("everything")
    assert "'simulate-research-query' is skipped: it can only be called as a task" in left_out
    assert set(map(len, said.values())) == {0}, said


def test_they_end_with_their_input(host):
    host.stop()
    assert {name: host.cost(name).exit_status for name in NAMES} == dict.fromkeys(NAMES, "exit 0")
