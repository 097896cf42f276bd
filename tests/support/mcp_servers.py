"""MCP servers for tests: those of tests/children/mcp, and four that others have published."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.extension_folder import folder

if TYPE_CHECKING:
    from tests.support.host import Host

SERVERS = Path(__file__).parents[1] / "children" / "mcp"
PUBLISHED = Path(__file__).parents[2] / ".venv" / "mcp-servers"
"""Where `make mcp-servers` installs them."""
RUNNERS = {".py": [sys.executable, "-S"], ".sh": ["/bin/sh"], ".js": ["node"]}


def server_argv(file: str, *args: str | Path) -> list[str]:
    """The command of one of the servers: "reference.py --era modern", or a file and its arguments."""
    name, *flags = file.split()
    return [*RUNNERS[Path(name).suffix], str(SERVERS / name), *flags, *map(str, args)]


def add_server(host: Host, name: str, file: str, *args: str | Path, **manifest: Any) -> None:
    """Adds one of the servers to a host."""
    host._add(name, server_argv(file, *args), {"dialect": "mcp", **manifest})


def server_folder(parent: Path, name: str, file: str, *args: str | Path, **manifest: Any) -> Path:
    """A folder with a manifest for one of the servers."""
    return folder(parent, name, server_argv(file, *args), dialect="mcp", **manifest)


def published(*names: str) -> list[list[str]]:
    """The commands of published servers, without their arguments. Skips the test where they are not installed."""
    npm = {
        name: PUBLISHED / "node_modules" / ".bin" / f"mcp-server-{name}"
        for name in ("everything", "filesystem", "memory")
    }
    places = npm | {"time": PUBLISHED / "python" / "bin" / "mcp-server-time"}
    missing = [name for name in names if not os.access(places[name], os.X_OK)]
    if missing:
        pytest.skip(f"the published servers {', '.join(missing)} are not installed: make mcp-servers")
    return [[str(places[name])] for name in names]


def add_published(host: Host, name: str, argv: list[str], **manifest: Any) -> None:
    """Adds a published server to a host."""
    host._add(name, argv, {"dialect": "mcp", **manifest})
