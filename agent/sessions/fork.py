"""Forks: a new session that begins with the messages of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.sessions.file import SessionFile, write_file
from agent.sessions.load import SessionError
from agent.sessions.reading.source import SessionSource
from agent.sessions.rows import Compaction, Meta, message_line, meta_line, usage_line
from agent.transcript import Message
from wire.events import Totals
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent.sessions.load import LoadedSession


def fork(source: Path, home: Path, *, at: int | None, version: str, cwd: str | None = None) -> Path:
    """Copies the first `at` messages of a session, or all (None), to a new session, and returns its file. The
    original is only read; another run may be writing to it.

    Messages are counted as in `LoadedSession.message_rows`, with those before a compaction; so is `fork_point` in the
    new file. Totals right after the last copied message are copied, a compaction right after it is not: the original
    had not yet compacted these messages. Calls whose results are cut off get one when the fork is loaded. The fork
    belongs to the folder of the original, or to `cwd`. Raises `SessionError`.
    """
    with SessionSource(source) as original:
        file = _copy(original, home, at=at, version=version, cwd=cwd)
        try:
            return file.create()
        finally:
            file.close()


def fork_to_go_on(source: Path, home: Path, *, cwd: str) -> tuple[SessionFile, LoadedSession]:
    """As `fork` of all messages, but the first new message creates the file. Returns the original, too."""
    original = SessionSource(source)
    try:
        file = _copy(original, home, cwd=cwd)
        return file, original.load()
    except BaseException:
        original.close()
        raise


def _copy(
    original: SessionSource, home: Path, *, at: int | None = None, version: str = "", cwd: str | None = None
) -> SessionFile:
    _choose(original, at)
    original.require_session()
    count = original.message_rows
    if at is not None and not 1 <= at <= count:
        raise SessionError(f"{original.path}: {_out_of_range(at, count)}")
    if not original.has_messages:
        raise SessionError(f"{original.path}: no fork: it has no messages")
    found = original.meta
    meta = Meta(
        cwd=found.cwd if cwd is None else cwd,
        model=found.model,
        provider=found.provider,
        version=version,
        title=original.title,
        parent=found.id or original.path.stem,
        fork_point=count if at is None else at,
    )
    return SessionFile.new(home, meta, original)


def keep(home: Path, meta: Meta, messages: Sequence[Message], usage: Totals, *, at: int | None = None) -> Path:
    """Writes a conversation without a file, or its first `at` messages, to a new session, and returns its file. Adds
    the id and the start to `meta`. Raises `SessionError`."""
    if at is not None and not 1 <= at <= len(messages):
        raise SessionError(_out_of_range(at, len(messages)))
    if not messages:
        raise SessionError("the conversation has no messages yet")
    target = SessionFile.new(home, meta)
    lines = map(message_line, messages[:at])
    # The totals come first: they count more than these messages, and belong to no reply.
    write_file(target.path, [meta_line(target.meta), usage_line(usage), *lines])
    return target.path


def _out_of_range(at: int, count: int) -> str:
    fits = "" if not count else "; at may be 1" if count == 1 else f"; at may be 1 to {count}"
    return f"no fork at {at}: there {'is' if count == 1 else 'are'} {counted(count, 'message')}{fits}"


def _choose(original: SessionSource, at: int | None) -> None:
    """Reads the whole file and keeps the rows of the first `at` messages."""
    is_cut = False
    for line, row in original.lines():
        if at is not None and original.message_rows >= at:
            is_cut = is_cut or original.message_rows > at or isinstance(row, Compaction)
        if not is_cut and isinstance(row, Message | Totals | Compaction):
            original.keep(line)
