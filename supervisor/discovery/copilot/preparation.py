"""Prepares the start of a Copilot extension, and names what this machine lacks for it.

Node runs a program of ours, which lets the extension import the SDK, and then the extension. zot looks for the SDK in
the `node_modules` of the extension and of its project, then in `$ZOT_HOME`. Extensions of the user never get a
project's SDK: it is code of the project's authors.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from supervisor.discovery.copilot.sdk import BOOTSTRAP, FOLDER, Sdk, SdkPlace, packages_of, search
from supervisor.discovery.found_extension import FoundExtension, Scope, on_path
from supervisor.discovery.kind import NODE
from supervisor.discovery.skipped_extension import SkipCause, SkipReason
from supervisor.home.copilot_folders import PROGRAM
from supervisor.home.repository import repository_root
from supervisor.home.zot_home import zot_home

if TYPE_CHECKING:
    from supervisor.discovery.copilot.sdk import SdkSearch

NO_NODE = SkipReason(
    "Node.js is not on PATH", SkipCause.LACKING, "install Node 20.6 or newer, or start zot with a PATH that has it"
)


def prepare(found: FoundExtension, workspace: Path, home: Path | None) -> tuple[FoundExtension, SkipReason | None]:
    """A Copilot extension with all that its start in a project's folder, the `workspace`, needs; and what this machine
    lacks, None if nothing. The SDK may be installed in `home`, the `$ZOT_HOME`. Starts nothing."""
    looked = _search(found.folder, found.scope, home or zot_home())
    env = {"EXTENSION_PATH": str(found.folder / PROGRAM)}
    if looked.sdk is not None:
        env["COPILOT_SDK_PATH"] = str(looked.sdk.path)
    made = replace(found, command=(NODE, str(BOOTSTRAP)), set_env=env, runs_in=workspace)
    return made, looked.problem if on_path(NODE) is not None else NO_NODE


def sdk_of(found: FoundExtension, home: Path) -> Sdk | None:
    """The SDK that a Copilot extension gets; None without one. `home` is `$ZOT_HOME`."""
    return _search(found.folder, found.scope, home).sdk


def _search(folder: Path, scope: Scope, home: Path) -> SdkSearch:
    folder, project = Path(os.path.abspath(folder)), project_of(folder)
    if project is None and scope is Scope.EXPLICIT:
        folder = folder.resolve()
        project = repository_root(folder)
    return search(folder, project, home)


def project_of(folder: Path) -> Path | None:
    """The root of the project whose `.github/extensions` or `.zot/extensions` holds this extension; None elsewhere."""
    parent = Path(os.path.abspath(folder)).parent
    if parent.name != "extensions" or parent.parent.name not in (".github", ".zot"):
        return None
    project = parent.parent.parent
    return repository_root(project) or project


def sdk_beside(folder: Path, home: Path, found: FoundExtension | None = None) -> list[str]:
    """The paths, relative to the extension's folder, of the packages outside of it that it imports: they are trusted
    together with it. Empty if it gets the SDK from `$ZOT_HOME`, which is `home`. `found` is the extension if it is
    already prepared: it may have another SDK than it would get now."""
    sdks = [_search(folder, Scope.PROJECT if found is None else found.scope, home).sdk, _started_with(found, home)]
    root = os.path.realpath(folder)
    packages = [each for sdk in sdks if sdk is not None and sdk.where is not SdkPlace.HOME for each in packages_of(sdk)]
    return [os.path.relpath(each, root) for each in packages if not each.startswith(f"{root}/")]


def _started_with(found: FoundExtension | None, home: Path) -> Sdk | None:
    path = "" if found is None else found.set_env.get("COPILOT_SDK_PATH", "")
    if not path or Path(path).is_relative_to(home / FOLDER):
        return None
    return Sdk(Path(path), "", SdkPlace.PROJECT)
