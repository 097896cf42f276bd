"""The dialect of MCP servers on stdio: their abilities, and the defaults of their manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wire.dialects.base import Dialect
from wire.dialects.mcp.session import McpSession

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wire.dialects.base import Setup


class McpDialect(Dialect):
    """The Model Context Protocol. A server has tools and prompts; it observes and guards nothing."""

    observable: frozenset[str] = frozenset()
    guardable: frozenset[str] = frozenset()
    is_ready_by_silence = False
    is_extended_by_progress = True
    manifest_defaults: Mapping[str, Any] = {
        "restart": {"policy": "permanent"},
        "env_policy": "minimal",
        "timeouts": {"ready": 10.0},
    }
    hello_s = 30.0
    launcher_hello_s = 60.0
    settle_s = 5.0
    launchers = frozenset(
        {"npx", "uvx", "uv", "bunx", "pnpm", "pnpx", "pipx", "npm", "deno", "docker", "podman"},
    )

    def session(self, setup: Setup) -> McpSession:
        return McpSession(setup)


DIALECT = McpDialect()
