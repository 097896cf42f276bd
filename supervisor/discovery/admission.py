"""Which extensions a run may start, and which new versions may take over from those that run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.discovery.discover import Scope
from supervisor.home.config import Config

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.discovery.discover import Found
    from supervisor.discovery.trust_store import TrustStore
    from wire.manifest import Manifest


@dataclass(frozen=True)
class Consent:
    """What the user of one run has said about this project's extensions, besides what is recorded."""

    whole_project: bool = False
    """`--trust-project`: all of them run, in this run; nothing is recorded."""
    folders: frozenset[Path] = frozenset()
    """These run, in this run."""


class Admission:
    """Says of each extension of a project why it may not start; "" if it may. For `discover`.

    Reads all of its files, which can take a second or two for hundreds of MB; the others are not looked at.
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
        """Why a new version may not take over from one with the `old` manifest; None if it may. Those of a project
        must be trusted as they are now; the others only if they get more of the host's environment than before."""
        if found.scope is Scope.PROJECT:
            why = self(found)
            return f"not trusted ({why})" if why else None
        from supervisor.discovery.trust_rules import widens

        more = widens(old, found.manifest, self._config)
        if not more or self._store.examine(found.folder, found.manifest).is_trusted:
            return None
        return f"it now asks for {', '.join(more)}, in {found.folder}"

    @property
    def _store(self) -> TrustStore:
        if self._opened is None:
            from supervisor.discovery.trust_store import TrustStore  # 3 ms: only where there is something to be judged

            self._opened = TrustStore(self._home)
        return self._opened
