"""The duties that every example has towards its host."""

from __future__ import annotations

import json
import os
import re

import pytest

from supervisor.discovery.data_dir import state_in
from supervisor.registry.registration import judge_tool
from tests.support.example_extensions import NEVER_READY, greeting
from tests.support.extension_folder import EXAMPLES
from wire.frames import FromExtension, Hello, Ready, RegisterTool, ShutdownAck, decode_from_extension
from wire.manifest import parse_manifest

NAMES = sorted(folder.name for folder in EXAMPLES.iterdir() if (folder / "extension.json").exists())
pytestmark = pytest.mark.parametrize("name", NAMES)


def test_its_folder_is_complete(name):
    manifest = parse_manifest((EXAMPLES / name / "extension.json").read_bytes())
    assert manifest.name == name
    assert manifest.version
    assert manifest.language
    assert manifest.description
    assert manifest.is_enabled
    if manifest.exec.startswith("./") and manifest.language != "go":
        assert os.access(EXAMPLES / name / manifest.exec, os.X_OK)
    assert (EXAMPLES / name / "README.md").read_text().startswith(f"# {name}\n")
    assert state_in(EXAMPLES / name) == [], "nothing in its folder is taken for state"


SKIPPED = re.compile("ignored a line|skipped a line")
UNKNOWN = [
    b"not json",
    b"",
    b'{"type":"shut',
    b"[1,2]",
    b"5",
    b"null",
    b"{}",
    b'{"type":null}',
    b'{"type":["shutdown"]}',
    b'{"type":"brand_new_frame","id":"1"}',
    b'{"type":"event","event":"brand_new_event"}',
    b'{"type":"x","text":"\xff\xfe"}',
    b"[" * 100_000,
]


def test_a_whole_conversation_with_lines_that_it_does_not_know(name, start):
    extension = start(name)
    frames = [decode_from_extension(json.dumps(frame).encode()) for frame in greeting(extension, name)]
    assert all(isinstance(frame, FromExtension) for frame in frames), frames
    assert frames[0] == Hello(name, "1.0.0", frames[0].capabilities)
    assert name in NEVER_READY or isinstance(frames[-1], Ready)
    tools = [judge_tool(frame) for frame in frames if isinstance(frame, RegisterTool)]
    assert [tool.name for tool in tools if not tool.plain_parts] == [], "they are checked without a checker process"
    extension.send("hello_ack", protocol_version=1, zot_version="1", provider="p", model="m", cwd="/nowhere")
    for line in UNKNOWN:
        extension.send_bytes(line + b"\n")
    extension.send("shutdown")
    assert decode_from_extension(extension.line()) == ShutdownAck()
    assert extension.line() == b""
    assert extension.exit_code() == 0
    lines = [line for line in extension.stderr().splitlines() if SKIPPED.search(line)]
    assert len(lines) >= 2, "bad JSON leaves a line in the log"


def test_exits_with_0_when_stdin_ends(name, greet):
    extension = greet(name)
    extension.close_stdin()
    assert extension.line() == b""
    assert extension.exit_code() == 0
