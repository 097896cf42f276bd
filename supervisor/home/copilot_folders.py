"""The folders in which extensions for the Copilot CLI are looked for. Each subfolder with an `extension.mjs` is one.

Extensions of a project lie in `.github/extensions` below the root of its repository, or in its own folder if it is in
no repository. Extensions of the user lie in `$ZOT_HOME/copilot-extensions`, and where the Copilot CLI has them:
`$COPILOT_HOME/extensions`, by default `~/.copilot/extensions`.
"""

from __future__ import annotations

import os
from pathlib import Path

from supervisor.home.repository import repository_root

PROGRAM = "extension.mjs"
"""File that makes a folder a Copilot extension, unless a manifest beside it has an `exec`."""
OF_PROJECT = Path(".github", "extensions")
OF_ZOT = "copilot-extensions"


def copilot_folder_of(project: Path) -> Path:
    """The folder with the Copilot extensions of a project. It may be missing."""
    real = Path(os.path.realpath(project))  # a link and its target have different parents
    return (repository_root(real) or real) / OF_PROJECT


def copilot_folders_of_user(home: Path) -> tuple[Path, Path]:
    """The folders with the user's Copilot extensions: in `home` (`$ZOT_HOME`), then the CLI's. They may be missing."""
    return home / OF_ZOT, _cli_home() / "extensions"


def copilot_folders(project: Path | None, home: Path | None) -> tuple[Path, ...]:
    """All folders, by precedence of names; without a project or `$ZOT_HOME` only the others."""
    mine = () if project is None else (copilot_folder_of(project),)
    return (*mine, *(() if home is None else copilot_folders_of_user(home)))


def is_for_copilot(parent: Path) -> bool:
    """Whether only Copilot extensions lie in this folder, by its path."""
    if parent.name == OF_ZOT:
        return True
    return parent.name == "extensions" and (
        parent.parent.name in (".github", ".copilot") or parent == _cli_home() / "extensions"
    )


def _cli_home() -> Path:
    given = os.environ.get("COPILOT_HOME")
    return Path(os.path.abspath(os.path.expanduser(given or "~/.copilot")))
