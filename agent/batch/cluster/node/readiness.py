"""Whether a node can run the tasks of a batch. All reasons against it are found at once; each says what to do."""

from __future__ import annotations

import os
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.batch.cluster.extension_facts import ExtensionFacts
from agent.batch.request import BatchRequest
from agent.batch.run.begin import run_request
from agent.batch.tasks.check_provider import CredentialCheck, ModelCheck
from agent.batch.workspace.git import GitError, run_git
from agent.model.access import AccessError
from agent.providers.auth_file import AuthFileError
from agent.providers.key_file import KeyFileError, read_key
from supervisor.home.config import ConfigError
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent.batch.cluster.node.places import Places
    from agent.options import RunRequest
    from wire.batch.node_frames import ExtensionFact, FolderExtensions, SetUp
    from wire.batch.task import Task

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
        *_other_extensions(set_up.extensions, places, run, home),
        *dict.fromkeys(fault for task in set_up.models for fault in _lacking_models(task, places, run)),
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


def _other_extensions(wanted: Iterable[FolderExtensions], places: Places, run: RunRequest, home: Path) -> Iterator[str]:
    """A difference that several folders have is told once. Folders that are missing are told of elsewhere."""
    told = set[str]()
    try:
        facts = ExtensionFacts(home)
        for folder in wanted:
            cwd, named = places.here(folder.cwd), tuple(map(places.here, folder.named))
            found = facts.find(replace(run, cwd=cwd, extensions=named)) if os.path.isdir(cwd) else folder.found
            for reason in differences(folder.found, found):
                if reason not in told:
                    told.add(reason)
                    yield reason if cwd == run.cwd else f"{printable(cwd)}: {reason}"
    except (ConfigError, OSError) as error:
        yield f"extensions cannot be looked for here: {error}"


def differences(wanted: Iterable[ExtensionFact], found: Iterable[ExtensionFact]) -> Iterator[str]:
    """The differences of the node's extensions, `found`, from those of the driver, `wanted`: only those that run count.
    Pure."""
    here, there = _by_name(found), _by_name(wanted)
    for name, fact in sorted(there.items()):
        if fact.trust:
            continue
        ours, said = here.get(name), f"extension {printable(name)}"
        if ours is None:
            yield f"{said} is missing here, or disabled: install it, or leave it out with --no-ext"
        elif ours.trust and ours.content in ("", fact.content):
            yield f"{said} does not run here: {ours.trust}"
        elif ours.content != fact.content:
            yield f"{said} has another content here: install the same version"
    for name, fact in sorted(here.items()):
        if not fact.trust and (name not in there or there[name].trust):
            yield (
                f"extension {printable(name)} runs here and not where the batch runs: remove it, or leave it out with"
                " --no-ext"
            )


def _by_name(facts: Iterable[ExtensionFact]) -> dict[str, ExtensionFact]:
    """Of several with one name, the one that runs."""
    return {fact.name: fact for fact in sorted(facts, key=lambda each: not each.trust, reverse=True)}


def _lacking_models(task: Task, places: Places, run: RunRequest) -> Iterator[str]:
    """The provider, the model or the credential that the runs of such a task would lack here."""
    run, host = run_request(run, task), printable(gethostname())
    request = BatchRequest(folder=Path(places.standin), run=run)
    if fault := ModelCheck(request).fault(task):
        yield f"{fault} (on {host})"
        return
    if run.api_key_file is not None:
        try:
            read_key(run.api_key_file)
        except KeyFileError as error:
            yield f"{error}: each node reads its own key: put one there on {host}, or leave the flag out"
        return
    try:
        missing = CredentialCheck(request).find_missing(task)
    except (AccessError, AuthFileError) as error:
        yield f"{error} (on {host})"
        return
    if missing is not None:
        provider = missing.provider
        yield (
            f"provider {printable(provider.name)}: no credential for {missing.endpoint.shown} on {host}: run"
            f" {provider.login_command} there, or set {' or '.join(provider.variables)} where ray start is called there"
        )
