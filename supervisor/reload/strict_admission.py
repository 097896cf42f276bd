"""Admits extensions of one dialect by their content alone, in a host whose agent may write such extensions itself.

A user's consent to a run (`--trust-project`, `--ext`, a yes on the terminal) holds for the content at the start of the
host. No person has seen content that the agent writes later: it runs only when the trust store has it. So only the user
decides about new content, whatever flags the run has.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from supervisor.discovery.content.seal import Seal
from supervisor.discovery.skipped_extension import SkipCause, SkippedExtension, SkipReason
from supervisor.discovery.steps import Allowance
from supervisor.discovery.trust_rules import TrustState
from supervisor.discovery.trust_store import TrustStore, key_of

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.discovery.discover import Discovery
    from supervisor.discovery.found_extension import FoundExtension, ProjectCopy
    from supervisor.discovery.steps import Steps


class StrictAdmission:
    """Judges the extensions of `dialect`; all others are left as they are. The seals hold for each later start: a
    process that ended is not restarted from changed files."""

    def __init__(self, home: Path, dialect: str, copy: ProjectCopy | None = None) -> None:
        self.dialect = dialect
        self._store = TrustStore(home, copy=copy)
        self._consented: dict[tuple[str, str], str] = {}
        """The hash of content that the user lets run in this host only, by the key of the place and the name."""

    def first(self, discovery: Discovery) -> Steps[Discovery]:
        """The extensions that the start of the host has found and admitted. Remembers the content of each that runs by
        consent. An extension that cannot be read in full starts only once, and its later versions need a record."""
        found = []
        for each in discovery.found:
            kept = (yield from self._remembered(each)) if self._is_judged(each) else each
            found.append(kept)
        return replace(discovery, found=tuple(found))

    def _remembered(self, found: FoundExtension) -> Steps[FoundExtension]:
        seal = found.seal
        if not found.is_hashed or seal is None:
            judged = yield from self._store.judging(found.place, found.manifest, is_shown=True, found=found)
            if judged.content is None or judged.seal is None:
                return replace(found, seal=Seal(found.manifest, ()).for_good(judged.reason))
            self._consented[_key(found)] = judged.content.hash
            seal = judged.seal
        return replace(found, seal=seal.for_good(_absolute_link(found, seal)))

    def again(self, discovery: Discovery) -> Steps[Discovery]:
        """The extensions that a later discovery has found and admitted. Skips an extension that has no record and has
        changed since the start of the host."""
        allowance = Allowance()
        found, skipped = [], [self._in_short(each) for each in discovery.skipped]
        for each in discovery.found:
            admitted = (yield from self._judge(each, allowance)) if self._is_judged(each) else each
            if isinstance(admitted, SkipReason):
                skipped.append(SkippedExtension(each.place, admitted, each.kind, untrusted=each))
            else:
                found.append(admitted)
        return replace(discovery, found=tuple(found), skipped=tuple(skipped))

    def may_run(self, found: FoundExtension) -> Steps[FoundExtension | str]:
        """The new version with its seal, or why it may not run."""
        judged = yield from self._judge(found, Allowance())
        return judged.text if isinstance(judged, SkipReason) else judged

    def _is_judged(self, found: FoundExtension) -> bool:
        return found.manifest.dialect == self.dialect and found.link is None

    def _judge(self, found: FoundExtension, allowance: Allowance) -> Steps[FoundExtension | SkipReason]:
        if found.is_hashed and found.seal is not None:
            return _seal_extension(found, found.seal)
        known = self._consented.get(_key(found))
        judged = yield from self._store.judging(
            found.place, found.manifest, allowance, is_shown=known is not None, found=found
        )
        is_known = judged.content is not None and judged.content.hash == known
        if judged.seal is not None and (judged.is_trusted or is_known):
            return _seal_extension(found, judged.seal)
        if known is not None and judged.standing is TrustState.NEVER_SEEN:
            return SkipReason("its files have changed since it was started", SkipCause.UNTRUSTED)
        return judged.why_not

    def _in_short(self, skipped: SkippedExtension) -> SkippedExtension:
        """The skipped extension without advice that has no effect here."""
        found = skipped.untrusted
        if found is None or not self._is_judged(found):
            return skipped
        return replace(skipped, why=replace(skipped.why, advice=""))


def _key(found: FoundExtension) -> tuple[str, str]:
    """Includes the name: a link could give an extension the place of another one, which it would then replace."""
    return key_of(found.place), found.manifest.name


def _seal_extension(found: FoundExtension, seal: Seal) -> FoundExtension | SkipReason:
    """The extension with its seal, for trusted files; or why it does not run."""
    unseen = _absolute_link(found, seal)
    return SkipReason(unseen) if unseen else replace(found, seal=seal.for_good())


def _absolute_link(found: FoundExtension, seal: Seal) -> str:
    """The name of an absolute link among the files of an extension; "" without one. The target is not a file of the
    extension, and may have changed."""
    link = seal.absolute_link(os.path.realpath(found.folder))
    why = "is an absolute link, and its target was not checked; put the file itself in its place"
    return f"{link} {why}" if link else ""
