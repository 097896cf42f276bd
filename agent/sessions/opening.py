"""Opens the session that a run goes on with, and says what the user has to know about it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from agent.sessions.file import SessionFile

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from agent.sessions.load import Loaded

REPLAYS = ("replay", "none")
"""What a file has as its provider if no provider was asked."""
ANTHROPIC = "anthropic"
"""The provider whose models cassettes have."""


class Opened(msgspec.Struct, frozen=True):
    """A session that was read, and the file that its next messages go to."""

    file: SessionFile
    loaded: Loaded

    def remarks(self, cwd: str) -> tuple[str, ...]:
        """Lines for the user: what could not be read, what was repaired, and whether another folder than `cwd` is the
        session's."""
        loaded = self.loaded
        found: tuple[str, ...] = ()
        if loaded.fault_count:
            first = loaded.faults[0]
            more = f" (the first of {loaded.fault_count} such lines)" if loaded.fault_count > 1 else ""
            found = (f"{loaded.path}:{first.line}: this line cannot be read and is left out{more}: {first.reason}",)
        if loaded.repairs:
            changed = "1 message is" if loaded.repairs == 1 else f"{loaded.repairs} messages are"
            found += (
                f"{loaded.path}: the conversation was broken off or edited: {changed} changed, added or left out, so"
                " that the model takes it",
            )
        theirs = loaded.meta.cwd
        if theirs and os.path.realpath(theirs) != os.path.realpath(cwd):
            found += (f"this session's folder was {theirs}; it goes on in {cwd}",)
        return found

    def model_for(self, provider: str | None, known: Collection[str]) -> tuple[str | None, str | None, str]:
        """The provider and the model to go on with, and a line for the user if they are not those of the session. With
        `provider`, the user has named one; `known` are those that there are. A replayed session has the model that was
        recorded."""
        meta = self.loaded.meta
        theirs = ANTHROPIC if meta.provider in ("", *REPLAYS) else meta.provider
        if not meta.model:
            return provider, None, ""
        if theirs in known and provider in (None, theirs):
            return theirs, meta.model, ""
        why = f"which {provider} has not" if theirs in known else "which is not known here"
        return (
            provider,
            None,
            (
                f"this session's model was {meta.model} of {meta.provider}, {why};"
                " it goes on with the default model (or choose one with --model)"
            ),
        )


def open_session(path: Path, *, home: Path, cwd: str, fork: bool) -> Opened:
    """Opens a session, or with `fork` begins a copy of it. Raises `SessionError`, and `SessionBusyError` if another run
    goes on with it."""
    file, loaded = SessionFile.copy_of(path, home, cwd) if fork else SessionFile.reopen(path)
    return Opened(file, loaded)
