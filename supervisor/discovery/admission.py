"""Decides which extensions a run may start, and which new versions may replace running ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from supervisor.discovery.discover import Scope
from supervisor.home.config import Config

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.discovery.discover import Found
    from supervisor.discovery.trust_store import TrustStore
    from wire.manifest import Manifest


class Consent(msgspec.Struct, frozen=True):
    """The project extensions that the user has allowed for one run. The extensions with a trust record are not among
    them."""

    whole_project: bool = False
    """`--trust-project`: all project extensions run in this run; nothing is recorded."""
    folders: frozenset[Path] = frozenset()
    """The extensions in these folders run in this run."""


class Admission:
    """`discover` asks this object for each extension. Returns why the extension may not start, or "" if it may.

    Examines only extensions of a project, and reads all their files: a second or two for hundreds of MB.
    """

    def __init__(self, home: Path, consent: Consent, config: Config | None = None) -> None:
        self._home = home
        self._consent = consent
        self._config = config or Config()
        self._opened: TrustStore | None = None

    def __call__(self, found: Found) -> str:
        if found.scope is not Scope.PROJECT or self._consent.whole_project or found.folder in self._consent.folders:
            return ""
        return self._store.judge(found).reason

    def may_run(self, found: Found, old: Manifest) -> str | None:
        """Returns why a new version may not replace one with the `old` manifest; None if it may. In a project the new
        version must be trusted as it is now. Elsewhere it must be trusted only if it gets more of the host's
        environment than the old version."""
        if found.scope is Scope.PROJECT:
            why = self(found)
            return f"not trusted ({why})" if why else None
        from supervisor.discovery.trust_rules import widens

        more = widens(old, found.manifest, self._config, os.environ)
        if not more or self._store.examine(found.folder, found.manifest).is_trusted:
            return None
        return f"it now asks for {', '.join(more)}, in {found.folder}"

    @property
    def _store(self) -> TrustStore:
        if self._opened is None:
            from supervisor.discovery.trust_store import TrustStore  # 3 ms: only if an extension must be judged

            self._opened = TrustStore(self._home)
        return self._opened
