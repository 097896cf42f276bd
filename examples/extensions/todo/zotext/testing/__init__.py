"""Tests an extension without a host: in the process of the test (`Harness`), or as a program (`spawn`).

from zotext.testing import Harness

with Harness(ext) as host:
    assert host.call_tool("shout", text="hi").text == "HI"
"""

from __future__ import annotations

from .answers import CommandAnswer, Note, PanelState, ToolAnswer, VerdictAnswer
from .harness import Harness
from .host_side import FEATURES, HostSide, PendingTool
from .program import ExtensionEnded, Program, spawn

__all__ = [
    "FEATURES",
    "CommandAnswer",
    "ExtensionEnded",
    "Harness",
    "HostSide",
    "Note",
    "PanelState",
    "PendingTool",
    "Program",
    "ToolAnswer",
    "VerdictAnswer",
    "spawn",
]
