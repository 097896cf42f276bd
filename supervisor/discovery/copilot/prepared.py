"""Says how a Copilot extension is started, and what this machine lacks for that.

Node runs a program of ours that lets the extension import the SDK, and then the extension. The SDK is looked for in the
`node_modules` of the extension and of its project, then in `$ZOT_HOME`. Extensions of the user never get that of a
project: it is code of whoever wrote the project.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from supervisor.discovery.copilot.sdk import BOOTSTRAP, Where, find_sdk, search
from supervisor.discovery.found import NODE, Found, Scope
from supervisor.home.copilot_folders import PROGRAM
from supervisor.home.repository import repository_root
from supervisor.home.search_path import on_path
from supervisor.home.zot_home import zot_home

if TYPE_CHECKING:
    from supervisor.discovery.copilot.sdk import Search

NO_NODE = "Node.js is not on PATH: install Node 20.6 or newer, or start zot with a PATH that has it"
BESIDE = "vscode-jsonrpc"
"""The package that the SDK speaks through; it lies in the same `node_modules`."""


def prepared(found: Found, workspace: Path, home: Path | None) -> tuple[Found, str]:
    """A Copilot extension as it is started in a project's folder, the `workspace`; and what this machine lacks for
    that, with what to do, "" if nothing is known. `home` is the `$ZOT_HOME` in which the SDK may be installed. Starts
    nothing."""
    looked = _search(found, home or zot_home())
    env = {"EXTENSION_PATH": str(found.folder / PROGRAM)}
    if looked.sdk is not None:
        env["COPILOT_SDK_PATH"] = str(looked.sdk.path)
    made = replace(found, command=(NODE, str(BOOTSTRAP)), set_env=env, runs_in=workspace)
    return made, looked.problem if on_path(NODE) is not None else NO_NODE


def _search(found: Found, home: Path) -> Search:
    folder, project = Path(os.path.abspath(found.folder)), project_of(found.folder)
    if project is None and found.scope is Scope.EXPLICIT:
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


def sdk_of_project(folder: Path, home: Path) -> list[str]:
    """The paths, relative to the extension's folder, of the packages of its project that it runs on: they are trusted
    together with it. Empty if it gets the SDK from its own folder or from `$ZOT_HOME`."""
    project = project_of(folder)
    sdk = None if project is None else find_sdk(Path(os.path.abspath(folder)), project, home)
    if sdk is None or sdk.where is not Where.PROJECT:
        return []
    root, path = os.path.realpath(folder), os.path.realpath(sdk.path)
    packages = (path, os.path.join(os.path.dirname(os.path.dirname(path)), BESIDE))
    return [os.path.relpath(package, root) for package in packages if os.path.isdir(package)]
