"""The extensions that a run would start in the working folder of a batch, as this machine finds them: the driver and
the nodes compare theirs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent.engine.extensions import finding
from supervisor.discovery.admission import Consent
from supervisor.discovery.steps import finish
from supervisor.discovery.trust_store import TrustStore
from supervisor.home.config import load_config
from wire.batch.node_frames import ExtensionFact
from wire.text import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from agent.options import RunRequest
    from supervisor.discovery.found_extension import FoundExtension

LENGTH = 300
"""Maximum of a reason in characters."""


def extension_facts(run: RunRequest, home: Path) -> tuple[ExtensionFact, ...]:
    """Sorted by name. Reads the whole content of each extension. Without those that the user has disabled. Raises
    `ConfigError`, `OSError`."""
    cwd = os.path.abspath(run.cwd or os.curdir)
    found = finish(finding(run, cwd, home, Consent(whole_project=run.trust_project), load_config(home)))
    store = TrustStore(home)
    facts = [ExtensionFact(each.manifest.name, _content(store, each), "") for each in found.usable]
    for skipped in found.skipped:
        if skipped.untrusted is not None:
            facts.append(ExtensionFact(skipped.name, _content(store, skipped.untrusted), _reason(skipped.reason)))
        elif skipped.is_error:
            facts.append(ExtensionFact(skipped.name, "", _reason(skipped.reason)))
    return tuple(sorted(facts))


def _content(store: TrustStore, found: FoundExtension) -> str:
    if not found.kind.has_folder:
        return ""
    content = store.examine(found.place, found.manifest, found).content
    return "" if content is None else content.hash


def _reason(text: str) -> str:
    return one_line(text, LENGTH)
