"""`spawn`: an extension as a program in a test of its author."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.sdk_program import PRELUDE
from zotext.testing import ExtensionEnded, spawn

if TYPE_CHECKING:
    from pathlib import Path


def test_a_program_that_ends_raises_at_once_with_its_stderr(start: Any):
    with pytest.raises(ExtensionEnded, match=r"(?s)status 1;.*ValueError: too early"):
        start("raise ValueError('too early')")
    host = start("@ext.tool\ndef leave() -> None:\n    os._exit(7)")
    with pytest.raises(ExtensionEnded, match="status 7"):
        host.call_tool("leave")


def test_a_wait_has_a_deadline(start: Any):
    host = start('@ext.tool\ndef hang() -> None:\n    print("stuck", flush=True)\n    forever.wait()')
    host.begin_tool("hang")
    host.wait_for(lambda: "stuck" in host.stderr)
    host.timeout_s = 0.01
    with pytest.raises(TimeoutError, match=r"(?s)without success for nothing.*stuck"):
        host.wait_for(lambda: False, "nothing")


def test_a_folder_with_a_manifest_can_be_started(tmp_path: Path):
    script = tmp_path / "main.py"
    script.write_text(f"#!{sys.executable}\n{PRELUDE}ext.tool(name='where')(os.getcwd)\n".replace("(os.getcwd)", "(w)"))
    script.write_text(script.read_text().replace("ext.tool(", "def w() -> str: return os.getcwd()\next.tool("))
    with script.open("a") as file:
        file.write("ext.run()\n")
    script.chmod(0o755)
    (tmp_path / "extension.json").write_text('{"name": "folder", "exec": "./main.py"}')
    with spawn(tmp_path) as host:
        assert host.call_tool("where").text == os.path.realpath(tmp_path)
