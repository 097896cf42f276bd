"""Decides which extensions a run may start, and which new versions may replace running ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from supervisor.discovery.found_extension import ProjectCopy, Scope
from supervisor.discovery.kind import COPILOT
from supervisor.discovery.skipped_extension import SkipReason
from supervisor.discovery.steps import Allowance
from supervisor.home.config import Config

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.discovery.discover import Admit
    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.discovery.steps import Steps
    from supervisor.discovery.trust_store import TrustStore
    from wire.manifest import Manifest


class Consent(msgspec.Struct, frozen=True):
    """The project extensions that the user has allowed for one run. Extensions with a trust record are not included."""

    whole_project: bool = False
    """`--trust-project`: all project extensions run in this run; nothing is recorded."""
    folders: frozenset[Path] = frozenset()
    """The extensions in these folders, and the MCP servers of these places, run in this run."""
    copy: ProjectCopy | None = None
    """The project's folder is a copy: an extension runs if it equals a trusted one of the original."""
    content: frozenset[str] = frozenset()
    """The `content_mark`s of extensions that run, wherever they are; nothing is recorded."""


def content_mark(name: str, content: str) -> str:
    """An extension of this name with this hash of its content, as in `Consent.content`."""
    return f"{content} {name}"


class Admission:
    """Examines only extensions of a project, and the user's Copilot extensions. Reads files only of extensions that the
    user has trusted: a second or two for hundreds of MB.

    The seals of Copilot extensions hold for each later start: one that has ended is not restarted from changed
    files, since an agent edits its one file. Other extensions may write files beside their program."""

    def __init__(self, home: Path, consent: Consent, config: Config | None = None) -> None:
        self._home = home
        self._consent = consent
        self._config = config or Config()
        self._opened: TrustStore | None = None

    def for_one_start(self) -> Admit:
        """Returns the `admit` of one `discover`. All extensions of one scope share an allowance: a project does not use
        up the allowance of the user's own extensions."""
        return _OneStart(self)

    def may_run(self, found: FoundExtension, old: Manifest) -> Steps[FoundExtension | str]:
        """Returns a new version, sealed, that may replace the one with the `old` manifest; or why it may not. A version
        that needs trust must be trusted with its present files. Any other one needs trust only if it gets more of the
        host's environment than the old version."""
        if found.needs_trust:
            if found.is_hashed or not self.needs_trust(found):
                return found
            admitted = yield from self.judge(found, Allowance())
            return admitted.text if isinstance(admitted, SkipReason) else admitted
        if not found.kind.has_folder:
            return found  # the user's own file asks for it
        from supervisor.discovery.trust_rules import widens

        more = widens(old, found.manifest, self._config, os.environ)
        if not more:
            return found
        admitted = yield from self.judge(found, Allowance())
        return f"it now asks for {', '.join(more)}, in {found.folder}" if isinstance(admitted, SkipReason) else admitted

    def needs_trust(self, found: FoundExtension) -> bool:
        """Whether an extension runs only if it is trusted: the user has not consented to it."""
        if not found.needs_trust or found.place in self._consent.folders:
            return False
        return found.scope is not Scope.PROJECT or not self._consent.whole_project

    def judge(self, found: FoundExtension, allowance: Allowance) -> Steps[FoundExtension | SkipReason]:
        """Returns a trusted extension with the seal of its files; or why it is not trusted."""
        wanted = self._consent.content
        judged = yield from self._store.judging(
            found.place, found.manifest, allowance, is_shown=bool(wanted), found=found
        )
        has_consent = judged.content is not None and content_mark(found.manifest.name, judged.content.hash) in wanted
        if not judged.is_trusted and not has_consent:
            return judged.why_not
        seal = judged.seal
        if seal is not None and found.manifest.dialect == COPILOT:
            seal = seal.for_good()
        return replace(found, seal=seal)

    def knows(self, folder: Path) -> bool:
        """Whether the user has ever trusted the content of a folder. True if that is unknown."""
        from supervisor.discovery.trust_store import TrustError, key_of

        try:
            return key_of(folder) in self._store.entries()
        except TrustError:
            return True

    @property
    def _store(self) -> TrustStore:
        if self._opened is None:
            from supervisor.discovery.trust_store import TrustStore  # 3 ms: only if an extension must be judged

            self._opened = TrustStore(self._home, copy=self._consent.copy)
        return self._opened


class _OneStart:
    """Admits the extensions of one start, or of one reload of all."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission
        self._allowances = {scope: Allowance() for scope in Scope}

    def __call__(self, found: FoundExtension) -> Steps[FoundExtension | SkipReason]:
        if not self._admission.needs_trust(found):
            return found
        return (yield from self._admission.judge(found, self._allowances[found.scope]))

    def knows(self, folder: Path) -> bool:
        return self._admission.knows(folder)
