"""Decides whether an extension is trusted, from the recorded content and the content now. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from supervisor.discovery.environment import NEVER, may_have, policy_of
from supervisor.discovery.skipped_extension import SkipCause, SkipReason
from wire.data_files import entry_for
from wire.manifest import FILE
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from supervisor.discovery.content.covered_files import Content
    from supervisor.discovery.content.seal import Seal
    from supervisor.home.config import Config
    from wire.manifest import Manifest


NEW, GONE = " (new)", " (gone)"
"""The ends of parts that are new and missing."""
LISTED = 300
"""Maximum number of characters of a list of files in an advice."""


class TrustState(Enum):
    """How the content of an extension compares with the trusted content."""

    TRUSTED = "trusted"
    NEVER_SEEN = "never seen"
    CHANGED = "changed"
    """The content of the extension differs from the trusted content."""
    ASKS_FOR_MORE_ENV = "asks for more"
    """The manifest names variables that were not granted."""
    RENAMED = "renamed"
    """The extension was trusted under another name. Only for an extension that has the name of its folder: a link can
    give it any name."""
    UNKNOWN = "unknown"
    """Not trusted: the extension's files or the trust file cannot be read."""


class TrustRecord(msgspec.Struct, frozen=True):
    """A trusted extension, as the trust file has it. Fields of other versions are kept in the file."""

    hash: str
    name: str
    env: tuple[str, ...] = ()
    """Names of the variables that the extension asked for."""
    time: str = ""
    """ISO 8601, UTC."""
    parts: dict[str, str] = {}
    """A short hash of each file, to tell which have changed; empty if there are more than `PARTS_KEPT`."""


@dataclass(frozen=True)
class TrustJudgement:
    """The judgement on one extension."""

    standing: TrustState
    reason: str
    """Why the extension is not trusted, in a few words; empty if it is trusted."""
    content: Content | None = None
    """None if the content was not read."""
    changes: tuple[str, ...] = ()
    """The parts that have changed since the extension was trusted, if known: `rules.py`, `lib/new.py (new)`."""
    seal: Seal | None = None
    """None if the content was not read."""

    @property
    def is_trusted(self) -> bool:
        return self.standing is TrustState.TRUSTED

    @property
    def why_not(self) -> SkipReason:
        """Why the extension is not started, if it is not trusted."""
        is_new = self.standing is TrustState.NEVER_SEEN
        return SkipReason(self.reason, SkipCause.NEVER_SEEN if is_new else SkipCause.UNTRUSTED)


def decide_unread(record: TrustRecord | None, env: tuple[str, ...], name: str | None = None) -> TrustState | None:
    """Returns the state of an extension that is not trusted, whatever its content is; None if the content decides.
    `name` is the extension's name; None if the content has it."""
    if record is None:
        return TrustState.NEVER_SEEN
    if name is not None and name != record.name:
        return TrustState.RENAMED
    return None if set(env) <= set(record.env) else TrustState.ASKS_FOR_MORE_ENV


def decide(record: TrustRecord | None, content: str, env: tuple[str, ...], name: str | None = None) -> TrustState:
    """Returns the state of an extension whose content has this hash and that asks for these variables; `name` as in
    `decide_unread`."""
    if (unread := decide_unread(record, env, name)) is not None:
        return unread
    assert record is not None
    return TrustState.TRUSTED if content == record.hash else TrustState.CHANGED


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the paths of the parts that differ, sorted. New and missing parts are marked."""
    changed = []
    for path in sorted({*before, *after}):
        if path not in before:
            changed.append(path + NEW)
        elif path not in after:
            changed.append(path + GONE)
        elif before[path] != after[path]:
            changed.append(path)
    return tuple(changed)


def data_advice(changed: Sequence[str], manifest: Manifest) -> str:
    """Returns the advice to name in `data` the files that `changes` has found; "" without changes, and if one of them
    cannot be data."""
    paths = [path.removesuffix(NEW).removesuffix(GONE) for path in changed]
    entries = list(dict.fromkeys(entry_for(path, manifest.words) for path in paths))
    if not entries or "" in entries:
        return ""
    listed = msgspec.json.encode([*manifest.data, *entries]).decode()
    which = "this file" if len(entries) == 1 else "these files"
    return f'if it writes {which} itself, its {FILE} may say "data": {one_line(listed, LISTED)}'


def widens(old: Manifest, new: Manifest, config: Config, environ: Mapping[str, str]) -> list[str]:
    """Returns the parts of the host's environment that an extension gets with the new manifest, but not with the old
    one: variables that it asks for, and `env_policy: inherit` if that adds all others. Empty if it gets no more.
    `environ` is the host's environment: a variable with a password in its value is a secret."""
    more = [
        name
        for name in dict.fromkeys(new.env)
        if name not in NEVER and not may_have(name, old, config, environ.get(name, ""))
    ]
    if policy_of(old, config) == "minimal" and policy_of(new, config) == "inherit":
        more.append("env_policy: inherit")
    return more


def state_reason(state: TrustState, record: TrustRecord | None, manifest: Manifest) -> str:
    """Returns in a few words why an extension in this state is not trusted; empty if it is trusted."""
    match state:
        case TrustState.NEVER_SEEN:
            return "never seen"
        case TrustState.CHANGED:
            return "its files have changed"
        case TrustState.RENAMED:
            return f"it was trusted under the name {'' if record is None else one_line(record.name, 64)}"
        case TrustState.ASKS_FOR_MORE_ENV:
            granted = record.env if record is not None else ()
            return f"it now asks for {', '.join(name for name in manifest.env if name not in granted)}"
        case _:
            return ""
