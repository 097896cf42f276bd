"""Versions of Node beside the one on PATH, for tests of how Copilot extensions start."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.copilot_host import ROOT

INSTALLED = ROOT / ".venv" / "copilot-nodes"
"""Where `make copilot-nodes` installs the first version that resolves imports in the same thread, and the newest."""
NODES = ("system", "first", "newest")


def node(which: str) -> Path:
    """The program of one of `NODES`. Skips the test where it is not installed."""
    if which == "system":
        if (found := shutil.which("node")) is None:
            pytest.skip("no node here")
        return Path(found)
    program = INSTALLED / which / "node_modules" / "node" / "bin" / "node"
    if not program.is_file():
        pytest.skip("other versions of Node are not installed: make copilot-nodes")
    return program


def path_with(which: str) -> str:
    """PATH with this Node at its front."""
    return f"{node(which).parent}{os.pathsep}{os.environ['PATH']}"
