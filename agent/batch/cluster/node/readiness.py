"""Whether a node can run the tasks of a batch. All reasons against it are found at once; each says what to do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent.batch.cluster.extension_facts import extension_facts
from agent.batch.workspace.git import GitError, run_git
from supervisor.home.config import ConfigError
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from agent.batch.cluster.node.places import Places
    from agent.options import RunRequest
    from wire.batch.node_frames import ExtensionFact, SetUp

SIGNS = 12
"""Hex digits of a commit, for people."""


def version_reason(theirs: str, ours: str) -> str:
    """Why the versions do not fit; empty if they do."""
    if theirs == ours:
        return ""
    return f"zot is {printable(ours)} here and {printable(theirs)} where the batch runs: install the same version"


def reasons_against(set_up: SetUp, places: Places, run: RunRequest, home: Path) -> list[str]:
    """Empty if the node can run the tasks. `run` has the places of this node."""
    return [
        *_missing_folders(places.here(folder) for folder in set_up.folders),
        *_missing_files(places.here(file) for file in set_up.files),
        *_lacking_repositories((places.here(repository), commit) for repository, commit in set_up.repositories),
        *_other_extensions(set_up.extensions, run, home),
    ]


def _missing_folders(folders: Iterable[str]) -> Iterator[str]:
    for folder in folders:
        if not os.path.isdir(folder):
            yield f"{printable(folder)}: there is no such folder here: mount it, or send its content with --upload"
        elif not os.access(folder, os.R_OK | os.X_OK):
            yield f"{printable(folder)}: this user may not read the folder here: change its mode"


def _missing_files(files: Iterable[str]) -> Iterator[str]:
    for file in files:
        if not os.path.isfile(file):
            yield f"{printable(file)}: there is no such file here: mount its folder, or send it with --upload"
        elif not os.access(file, os.R_OK):
            yield f"{printable(file)}: this user may not read the file here: change its mode"


def _lacking_repositories(repositories: Iterable[tuple[str, str]]) -> Iterator[str]:
    for repository, commit in repositories:
        where = f"{printable(repository)}: --workspace worktree"
        try:
            run_git(repository, "rev-parse", "--git-dir")
        except GitError as error:
            yield f"{where}: {error}: clone the repository here, or mount it"
            continue
        try:
            run_git(repository, "cat-file", "-e", f"{commit}^{{commit}}")
        except GitError:
            yield f"{where}: the commit {printable(commit[:SIGNS])} is missing here: git fetch it"


def _other_extensions(wanted: Iterable[ExtensionFact], run: RunRequest, home: Path) -> Iterator[str]:
    try:
        found = extension_facts(run, home)
    except (ConfigError, OSError) as error:
        yield f"extensions cannot be looked for here: {error}"
        return
    yield from differences(wanted, found)


def differences(wanted: Iterable[ExtensionFact], found: Iterable[ExtensionFact]) -> Iterator[str]:
    """The differences of the node's extensions, `found`, from those of the driver, `wanted`: only those that run count.
    Pure."""
    here = {fact.name: fact for fact in found}
    there = {fact.name: fact for fact in wanted}
    for name, fact in sorted(there.items()):
        if fact.trust:
            continue
        ours, said = here.get(name), f"extension {printable(name)}"
        if ours is None:
            yield f"{said} is missing here: install it, or leave it out with --no-ext"
        elif ours.content != fact.content:
            yield f"{said} has another content here: install the same version"
        elif ours.trust:
            yield f"{said} does not run here: {ours.trust}"
    for name, fact in sorted(here.items()):
        if not fact.trust and (name not in there or there[name].trust):
            yield (
                f"extension {printable(name)} runs here and not where the batch runs: remove it, or leave it out with"
                " --no-ext"
            )
