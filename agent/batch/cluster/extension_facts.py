"""The extensions that runs of a batch would start, as this machine finds them: the driver and the nodes compare
theirs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agent.engine.extensions import finding
from supervisor.discovery.admission import Consent, content_mark
from supervisor.discovery.steps import finish
from supervisor.discovery.trust_store import TrustStore
from supervisor.home.config import load_config
from wire.batch.node_frames import ExtensionFact, FolderExtensions
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from agent.options import RunRequest
    from supervisor.discovery.found_extension import FoundExtension
    from wire.batch.task import Task

LENGTH = 300
"""Maximum of a reason in characters."""
MOST_FOLDERS = 100
"""Maximum of working folders that are looked at."""


class ExtensionFacts:
    """Finds the facts for one folder after another, and reads each extension once. `home` is `$ZOT_HOME`."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._config = load_config(home)
        self._store = TrustStore(home)
        self._contents: dict[Path, str] = {}

    def find(self, run: RunRequest) -> tuple[ExtensionFact, ...]:
        """Sorted by name. Reads the whole content of each extension. Without those that the user has disabled. Raises
        `OSError`."""
        cwd = os.path.abspath(run.cwd or os.curdir)
        consent = Consent(whole_project=run.trust_project, content=frozenset(run.trusted_content))
        found = finish(finding(run, cwd, self._home, consent, self._config))
        facts = [ExtensionFact(each.manifest.name, self._content(each), "") for each in found.usable]
        for skipped in found.skipped:
            if skipped.untrusted is not None:
                content = self._content(skipped.untrusted)
                facts.append(ExtensionFact(skipped.name, content, one_line(skipped.reason, LENGTH)))
            elif skipped.is_error:
                facts.append(ExtensionFact(skipped.name, "", one_line(skipped.reason, LENGTH)))
        return tuple(sorted(facts))

    def _content(self, found: FoundExtension) -> str:
        if not found.kind.has_folder and not found.needs_trust:
            return ""
        content = self._contents.get(found.place)
        if content is None:
            examined = self._store.examine(found.place, found.manifest, found).content
            content = self._contents[found.place] = "" if examined is None else examined.hash
        return content


def folder_extensions(run: RunRequest, tasks: Iterable[Task], home: Path) -> tuple[FolderExtensions, ...]:
    """The extensions of each working folder with each `ext` there, of at most `MOST_FOLDERS`. Raises `ConfigError`,
    `OSError`."""
    facts, found = ExtensionFacts(home), dict[tuple[str, tuple[str, ...]], FolderExtensions]()
    for task in tasks:
        cwd, named = task.cwd or run.cwd or os.getcwd(), run.extensions if task.ext is None else task.ext
        if (cwd, named) not in found:
            at = replace(run, cwd=cwd, extensions=named)
            found[cwd, named] = FolderExtensions(cwd, named, facts.find(at))
            if len(found) == MOST_FOLDERS:
                break
    return tuple(found.values())


def trusted_content(folders: Iterable[FolderExtensions]) -> tuple[str, ...]:
    """The `content_mark`s of all that may run."""
    facts = {fact for folder in folders for fact in folder.found if not fact.trust and fact.content}
    return tuple(sorted(content_mark(fact.name, fact.content) for fact in facts))
