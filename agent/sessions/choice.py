"""Opens the session that a run resumes, and makes the lines for the user about it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from agent.sessions.file import SessionFile
from agent.sessions.find import find, newest
from agent.sessions.load import SessionError

if TYPE_CHECKING:
    from collections.abc import Collection

    from agent.sessions.load import LoadedSession

REPLAYS = ("replay", "none")
"""Provider names in files of sessions that asked no server."""
ANTHROPIC = "anthropic"
"""The provider of the models in cassettes."""


class OpenedSession(msgspec.Struct, frozen=True):
    """A session that was read, and the file for its next messages."""

    file: SessionFile
    loaded: LoadedSession

    def remarks(self, cwd: str) -> tuple[str, ...]:
        """Lines for the user: about unreadable lines, about repairs, and about the session's folder if it is not `cwd`;
        empty if there is nothing to say."""
        loaded = self.loaded
        found: tuple[str, ...] = ()
        if loaded.fault_count:
            first = loaded.faults[0]
            more = f" (the first of {loaded.fault_count} such lines)" if loaded.fault_count > 1 else ""
            found = (f"{loaded.path}:{first.line}: this line cannot be read and is skipped{more}: {first.reason}",)
        if loaded.repairs:
            changed = "1 message is" if loaded.repairs == 1 else f"{loaded.repairs} messages are"
            found += (
                f"{loaded.path}: the conversation was cut off or edited: {changed} changed, added or dropped, so"
                " that the model accepts it",
            )
        theirs = loaded.meta.cwd
        if theirs and os.path.realpath(theirs) != os.path.realpath(cwd):
            found += (f"this session's folder was {theirs}; it continues in {cwd}",)
        return found

    def provider(self, known: Collection[str]) -> str | None:
        """The provider of the session; None if the session has no model or the provider is not in `known`."""
        meta = self.loaded.meta
        theirs = ANTHROPIC if meta.provider in ("", *REPLAYS) else meta.provider
        return theirs if meta.model and theirs in known else None

    def model_for(self, provider: str | None, known: Collection[str]) -> tuple[str | None, str | None, str]:
        """The provider and the model for the next requests, and a line for the user if they differ from the session's.
        `provider`: the one that the user named, None if unset; `known`: all providers. A replayed session has the
        recorded model."""
        meta, theirs = self.loaded.meta, self.provider(known)
        if not meta.model:
            return provider, None, ""
        if theirs is not None and provider in (None, theirs):
            return theirs, meta.model, ""
        why = "which is unknown here" if theirs is None else f"which {provider} has not"
        return (
            provider,
            None,
            (
                f"this session's model was {meta.model} of {meta.provider}, {why};"
                " it continues with the default model (or choose one with --model)"
            ),
        )


def open_session(path: Path, *, home: Path, cwd: str, fork: bool) -> OpenedSession:
    """Opens a session, or with `fork` a copy. Raises `SessionError`; `SessionBusyError` if another run writes to it."""
    if not fork:
        return OpenedSession(*SessionFile.reopen(path))
    from agent.sessions.fork import fork_to_go_on  # most runs copy nothing

    return OpenedSession(*fork_to_go_on(path, home, cwd=cwd))


class SessionChoice(msgspec.Struct, frozen=True):
    """The flags that choose the session to resume."""

    continue_last: bool
    resume: str | None
    session: str | None
    fork: bool
    keep_session: bool

    def check(self) -> bool:
        """Whether the run resumes a session. Raises `SessionError` for flags that exclude each other."""
        asked = [self.continue_last, self.resume is not None, self.session is not None]
        if sum(asked) > 1:
            raise SessionError(
                "--continue, --resume and --session exclude each other: each names the session to resume"
            )
        if self.resume == "":
            raise SessionError("--resume needs an ID here (zot session list), or use --continue for the newest session")
        if not any(asked) and self.fork:
            raise SessionError("--fork copies a session: name it with --continue, --resume ID or --session PATH")
        if any(asked) and not self.keep_session:
            raise SessionError("--no-session excludes --continue, --resume and --session, whose file the run writes to")
        return any(asked)

    def open(self, home: Path, cwd: str) -> OpenedSession | None:
        """The session that the run resumes; None for a new one. Raises `SessionError`."""
        if not self.check():
            return None
        if self.session is not None:
            path = Path(self.session).absolute()
        elif self.resume is not None:
            path = find(home, cwd, self.resume, named="--resume").absolute()
        else:
            path = newest(home, cwd)
        return open_session(path, home=home, cwd=cwd, fork=self.fork)
