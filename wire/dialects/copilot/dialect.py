"""The dialect of extensions of the Copilot CLI: their abilities, and the defaults of their manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wire.dialects.base import Dialect
from wire.dialects.copilot.hooks import HOOK_EVENTS
from wire.dialects.copilot.join import EVENTS
from wire.dialects.copilot.session import CopilotSession

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wire.dialects.base import Setup


class CopilotDialect(Dialect):
    """Extensions that join a session through `@github/copilot-sdk`. They have tools, commands and hooks, observe
    events, and send requests to their host."""

    observable = frozenset(EVENTS)
    guardable = frozenset(HOOK_EVENTS.values())
    is_ready_by_silence = False
    is_extended_by_progress = False
    manifest_defaults: Mapping[str, Any] = {
        "timeouts": {"ready": 10.0, "intercept": 30.0, "tool_call": 300.0, "command": 300.0}
    }
    """Copilot has no deadlines, and published extensions run linters in hooks, builds and tests in tools. It gives a
    hook that is a shell command 30 s."""
    hello_s = 30.0
    """From the start to `joinSession`, before which the extension may run top-level code."""
    launcher_hello_s = 30.0
    launchers: frozenset[str] = frozenset()
    settle_s = 10.0
    has_workspace = True
    session_variable = "SESSION_ID"
    exit_s = 0.5
    """The end of its input ends an extension, unless it has a timer: then only SIGTERM does."""
    term_s = 5.0
    drain_s = 0.3
    """Newer SDKs drop all unread messages in the process when stdin ends, `session.shutdown` among them."""
    is_reloaded_with_session = True

    def session(self, setup: Setup) -> CopilotSession:
        return CopilotSession(setup)


DIALECT = CopilotDialect()
