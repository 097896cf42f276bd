"""Provokes the messages of docs/troubleshooting.md, one function for each: what a user does, and what zot then says.

A function is registered under the heading of its message, in which `…` stands for any text. It gets a `Stage` and
returns what the user saw.
"""

from tests.support.situations import (
    batches,
    commands,
    copilot_extensions,
    extensions,
    guards,
    hosts,
    installations,
    mcp_servers,
    programs,
    prompts,
    sessions,
)
from tests.support.situations.stage import SITUATIONS, Stage

__all__ = [
    "SITUATIONS",
    "Stage",
    "batches",
    "commands",
    "copilot_extensions",
    "extensions",
    "guards",
    "hosts",
    "installations",
    "mcp_servers",
    "programs",
    "prompts",
    "sessions",
]
