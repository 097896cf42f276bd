"""The words of MCP that clients and servers share: versions, methods, codes and levels of log messages. Pure.

Up to 2025-11-25 a connection opens with `initialize`. Since 2026-07-28 there is no handshake: every request has its
version, and `server/discover` asks for a server's capabilities.
"""

from __future__ import annotations

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Supported versions with a handshake, the newest last."""
MODERN = "2026-07-28"
META_PREFIX = "io.modelcontextprotocol/"
"""The beginning of MCP's own names in `_meta`."""
UNSUPPORTED_VERSION = -32022
INPUT_REQUIRED = "input_required"
"""The `resultType` of a result that does not end its request."""

INITIALIZE = "initialize"
DISCOVER = "server/discover"
LISTEN = "subscriptions/listen"
PING = "ping"
SET_LEVEL = "logging/setLevel"
LIST_TOOLS = "tools/list"
LIST_PROMPTS = "prompts/list"
CALL_TOOL = "tools/call"
GET_PROMPT = "prompts/get"

CANCELLED = "notifications/cancelled"
INITIALIZED = "notifications/initialized"
PROGRESS = "notifications/progress"
LOG_MESSAGE = "notifications/message"
TOOLS_CHANGED = "notifications/tools/list_changed"
PROMPTS_CHANGED = "notifications/prompts/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The levels of log messages, the lowest first."""
