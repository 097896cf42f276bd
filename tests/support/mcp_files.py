"""A project with a file of MCP servers, and what is found in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from supervisor.discovery.discover import Discovery, McpFiles, discover

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.discovery.discover import Admit
    from supervisor.discovery.found_extension import FoundExtension


def write_servers(file: Path, **servers: Any) -> Path:
    """Writes a file with these servers."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def found_in(project: Path, home: Path | None = None, *named: Path, admit: Admit | None = None) -> Discovery:
    """The extensions and servers that a run in the project finds."""
    return discover((), project, home, admit, McpFiles(project, tuple(map(str, named))))


def server_of(project: Path, name: str) -> FoundExtension:
    """The server of this name in the project's file."""
    return next(found for found in found_in(project).found if found.manifest.name == name)
