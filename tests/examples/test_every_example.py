"""What each example owes its host, whatever it does besides."""

from __future__ import annotations

import os

import pytest

from tests.examples.conftest import EXTENSIONS
from wire.frames import FromExtension, Hello, Ready, ShutdownAck, decode_from_extension
from wire.manifest import parse_manifest

EXAMPLES = sorted(folder.name for folder in EXTENSIONS.iterdir() if (folder / "extension.json").exists())
pytestmark = pytest.mark.parametrize("name", EXAMPLES)


def test_manifest_is_valid_and_complete(name):
    manifest = parse_manifest((EXTENSIONS / name / "extension.json").read_bytes())
    assert manifest.name == name
    assert manifest.version
    assert manifest.language
    assert manifest.description
    assert manifest.is_enabled
    if manifest.exec.startswith("./"):
        assert os.access(EXTENSIONS / name / manifest.exec, os.X_OK)


def test_has_a_readme_with_its_name(name):
    assert (EXTENSIONS / name / "README.md").read_text().startswith(f"# {name}\n")


def test_first_frames_are_valid_and_run_from_hello_to_ready(name, start):
    extension = start(name)
    frames = [decode_from_extension(extension.line())]
    while not isinstance(frames[-1], Ready):
        assert isinstance(frames[-1], FromExtension), frames[-1]
        frames.append(decode_from_extension(extension.line()))
    assert frames[0] == Hello(name, "1.0.0", frames[0].capabilities)


def test_shutdown_is_acknowledged_and_exits_with_0(name, greet):
    extension = greet(name)
    extension.send("shutdown")
    assert decode_from_extension(extension.line()) == ShutdownAck()
    assert extension.line() == b""
    assert extension.exit_code() == 0


def test_exits_with_0_when_stdin_ends(name, greet):
    extension = greet(name)
    extension.close_stdin()
    assert extension.line() == b""
    assert extension.exit_code() == 0


@pytest.mark.parametrize(
    "line",
    [
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
    ],
)
def test_a_line_that_it_does_not_know_is_ignored(name, line, greet):
    extension = greet(name)
    extension.send_bytes(line + b"\n")
    extension.send("shutdown")
    assert extension.frame() == {"type": "shutdown_ack"}
    assert extension.exit_code() == 0


def test_bad_json_leaves_a_line_in_the_log(name, greet):
    extension = greet(name)
    extension.send_bytes(b"{not json\n")
    extension.send("shutdown")
    assert extension.exit_code() == 0
    assert len([line for line in extension.stderr().splitlines() if "ignored a line" in line]) == 1
