"""Writes the limits of an extension into `config.json`. All else in the file stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.tools.files.user_file import replace_file
from agent.tools.outcome import ToolError
from cli.os_errors import UnableError
from supervisor.home import config
from supervisor.home.safe_files import locked, read_file
from supervisor.home.zot_home import private_folder
from wire.settings.json_edit import remove_member, set_member
from wire.settings.limit_changes import merge_changes, written

if TYPE_CHECKING:
    from pathlib import Path

    from wire.settings.limit_changes import LimitChanges

SECTION = "extension_limits"
LOCK_S = 5.0
"""Seconds to wait for the lock. A writer holds it for milliseconds."""
MODE = 0o600
"""Mode of a new file."""


def keep_limits(home: Path, name: str, changes: LimitChanges) -> Path:
    """Adds the changes to those that the file has, and returns its path; `default` takes one out. The file is written
    in one step. Raises `ConfigError` for a file with a fault, `UnableError` and `OSError`."""
    path = home / config.NAME
    private_folder(home)
    try:
        with locked(path, LOCK_S):
            before = config.load_config(home).extension_limits.get(name, {})
            kept = {limit: written(value) for limit, value in merge_changes(before, changes).items()}
            if kept == before:
                return path
            text = read_file(path) if path.exists() else b""
            new = set_member(text, SECTION, name, kept) if kept else remove_member(text, SECTION, name)
            replace_file(str(path), new, mode=MODE)
    except TimeoutError as error:
        raise UnableError(f"{path}: {error.strerror}; try again when it has ended; nothing has changed") from None
    except ToolError as error:
        raise UnableError(f"{error}; nothing has changed") from None
    return path
