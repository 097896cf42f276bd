"""Groups tasks by the extensions that a run of each would start. Looks for them as a run does, and starts none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from agent.batch.run.begin import run_request
from agent.engine.extensions import finding
from supervisor.discovery.admission import Consent
from supervisor.discovery.steps import finish
from supervisor.home.config import ConfigError, load_config
from supervisor.home.zot_home import zot_home
from supervisor.sharing.offers import may_be_shared

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.batch.request import BatchRequest
    from agent.options import RunRequest
    from wire.batch.task import Task


class ExtensionSet(msgspec.Struct, kw_only=True):
    """Tasks whose runs start the same extensions."""

    extensions: tuple[str, ...]
    may_be_shared: tuple[str, ...]
    """Of these, the ones of which one process may serve several runs."""
    skipped: dict[str, str]
    """Extensions that are not started, and why; without those that the user has disabled."""
    tasks: int = 0
    example: str = ""
    """The id of the first task."""
    folders: int = 0
    """Number of their working folders."""


def extension_sets(tasks: Iterable[Task], request: BatchRequest) -> list[ExtensionSet]:
    """The set of most tasks first."""
    by_look: dict[tuple[str, tuple[str, ...]], ExtensionSet] = {}
    sets: dict[tuple[object, ...], ExtensionSet] = {}
    for task in tasks:
        run = run_request(request.run, task)
        cwd = os.path.abspath(run.cwd or os.curdir)
        look = (cwd, run.extensions)
        found = by_look.get(look)
        if found is None:
            found = _look(run, cwd, request)
            key = (found.extensions, tuple(found.skipped.items()))
            found = by_look[look] = sets.setdefault(key, found)
            found.folders += 1
        found.tasks += 1
        found.example = found.example or task.id
    return sorted(sets.values(), key=lambda each: -each.tasks)


def _look(run: RunRequest, cwd: str, request: BatchRequest) -> ExtensionSet:
    home = run.home or zot_home()
    try:
        config = load_config(home)
        found = finish(finding(run, cwd, home, Consent(whole_project=run.trust_project), config))
    except (ConfigError, OSError) as error:
        return ExtensionSet(extensions=(), may_be_shared=(), skipped={"": str(error)})
    shared = (*request.share, *config.share)
    return ExtensionSet(
        extensions=tuple(each.manifest.name for each in found.found),
        may_be_shared=tuple(each.manifest.name for each in found.found if may_be_shared(each, shared)),
        skipped={each.name: each.reason for each in found.skipped if each.is_error or each.untrusted is not None},
    )
