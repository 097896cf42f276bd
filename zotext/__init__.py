"""Write extensions for zot in Python.

    from zotext import Extension

    ext = Extension("hello", "1.0.0")

    @ext.tool
    def shout(text: str) -> str:
        '''Upper-case a text.'''
        return text.upper()

    ext.run()

Needs only the standard library. Copy this folder next to an extension, and it works without an installation.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 9):  # noqa: UP036  (`python3` may be of any version)
    raise ImportError(f"zotext needs Python 3.9 or later, and {sys.executable} is older; see exec in extension.json")

from .content import Image, Result, Text
from .context import CallContext, CommandContext, ToolContext
from .errors import Cancelled, RegistrationError, ToolError
from .events import (
    EVENTS,
    AgentStart,
    AssistantMessage,
    Event,
    Lease,
    PanelClosed,
    PanelKey,
    PanelSize,
    ToolCall,
    ToolResult,
    TurnStart,
    UserPrompt,
)
from .extension import Extension
from .host import HostInfo
from .responses import Display, Error, Insert, Noop, OpenPanel, Prompt, Response
from .verdicts import (
    AddContext,
    Allow,
    Ask,
    Block,
    ReplaceResult,
    ReplaceText,
    RewriteArgs,
    add_context,
    allow,
    ask,
    block,
    replace_result,
    replace_text,
    rewrite_args,
)

__all__ = [
    "EVENTS",
    "AddContext",
    "AgentStart",
    "Allow",
    "Ask",
    "AssistantMessage",
    "Block",
    "CallContext",
    "Cancelled",
    "CommandContext",
    "Display",
    "Error",
    "Event",
    "Extension",
    "HostInfo",
    "Image",
    "Insert",
    "Lease",
    "Noop",
    "OpenPanel",
    "PanelClosed",
    "PanelKey",
    "PanelSize",
    "Prompt",
    "RegistrationError",
    "ReplaceResult",
    "ReplaceText",
    "Response",
    "Result",
    "RewriteArgs",
    "Text",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "TurnStart",
    "UserPrompt",
    "add_context",
    "allow",
    "ask",
    "block",
    "replace_result",
    "replace_text",
    "rewrite_args",
]
