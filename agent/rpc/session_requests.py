"""Answers the requests about session files: to list, resume, copy, export and import them.

Each is carried out at once: reading or writing a file delays other answers. Paths are those of the server.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from agent.rpc.refusal import RequestRefusedError
from agent.sessions import store
from agent.sessions.export.json import branch_record, export_json, session_record
from agent.sessions.export.markdown import export_markdown
from agent.sessions.file import SessionBusyError, write_file
from agent.sessions.find import find
from agent.sessions.fork import fork, keep
from agent.sessions.load import SessionError
from agent.sessions.places import FOLDER
from agent.sessions.portable import export_portable, import_session, portable_text
from agent.sessions.reading.history import read_history
from agent.sessions.reading.tree import tree
from agent.sessions.rows import Meta
from supervisor.home.scratch import scratch_folder
from wire.rpc import requests, responses
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.engine.engine import Engine
    from agent.sessions.reading.tree import Branch
    from wire.rpc import sessions

TEXT_LIMIT = 16 * 1024 * 1024
"""Maximum of an exported session in an answer, in bytes."""
Query = TypeVar("Query")
Data = TypeVar("Data")


def _refuse_on_fault(
    query: Callable[[SessionRequests, Query], Data],
) -> Callable[[SessionRequests, Query], Data]:
    """Decorates a query so that a fault of a session file raises `RequestRefusedError`."""

    def ask(requests: SessionRequests, request: Query) -> Data:
        try:
            return query(requests, request)
        except SessionBusyError as error:
            raise RequestRefusedError(valid_text(str(error)), "busy") from None
        except SessionError as error:
            raise RequestRefusedError(valid_text(str(error))) from None
        except OSError as error:
            raise RequestRefusedError(valid_text(f"{error.filename or 'session'}: {error.strerror}")) from None
        except ImportError as error:
            raise RequestRefusedError(valid_text(f"this needs a module that cannot be loaded now: {error}")) from None

    return ask


class SessionRequests:
    """Carries out requests. Each method raises `RequestRefusedError`."""

    def __init__(
        self, engine: Engine, *, home: Path, cwd: str, version: str, refuse_if_busy: Callable[[], None]
    ) -> None:
        """`refuse_if_busy` raises `RequestRefusedError` while the conversation cannot be replaced."""
        self._engine = engine
        self._home = home
        self._cwd = cwd
        self._version = version
        self._refuse_if_busy = refuse_if_busy

    # --- lists ---------------------------------------------------------------------------------------------

    def _sessions(self, *, of_all: bool) -> list[store.SessionInfo]:
        found = store.list_sessions(self._home, None if of_all else self._cwd)
        return [info for info in found if not info.is_hidden]

    @_refuse_on_fault
    def list(self, request: requests.ListSessions) -> responses.Sessions:
        return responses.Sessions(tuple(map(session_record, self._sessions(of_all=request.all))))

    @_refuse_on_fault
    def tree(self, request: requests.Tree) -> responses.Branches:
        return responses.Branches(tuple(map(_branch, tree(self._sessions(of_all=request.all)))))

    # --- the conversation of this server ------------------------------------------------------------------

    @_refuse_on_fault
    def resume(self, request: requests.Resume) -> responses.Resumed:
        self._refuse_if_busy()
        path = self._find(request.session, "session")
        if (own := self._engine.conversation.path) is not None and _is_same(own, path):
            path = own
        loaded = self._engine.session.resume(path)
        return responses.Resumed(
            session=valid_text(self._engine.session.id),
            path=_text(path),
            message_count=len(loaded.messages),
            model=loaded.meta.model,
            title=loaded.title,
            repairs=loaded.repairs,
        )

    # --- copies -------------------------------------------------------------------------------------------

    @_refuse_on_fault
    def fork(self, request: requests.Fork) -> responses.Forked:
        if request.session is not None:
            original = self._find(request.session, "session")
            made = fork(original, self._home, at=request.at, version=self._version, cwd=self._cwd)
        else:
            self._refuse_if_busy()
            made = self._copy_of_own(self._home, at=request.at)
            self._engine.session.resume(made)
        info = store.describe(made)
        return responses.Forked(info.id, _text(made), info.parent, info.messages)

    def _own_file(self) -> Path | None:
        """The file with the whole conversation of this server; None without one."""
        conversation = self._engine.conversation
        conversation.settle()
        return conversation.path if conversation.is_on_disk else None

    def _copy_of_own(self, home: Path, *, at: int | None = None) -> Path:
        """A new session file with the conversation of this server, under this home."""
        if (own := self._own_file()) is not None:
            return fork(own, home, at=at, version=self._version, cwd=self._cwd)
        conversation = self._engine.conversation
        meta = Meta(cwd=self._cwd, model=self._engine.model, provider=self._engine.provider_name, version=self._version)
        return keep(home, meta, conversation.transcript, conversation.usage, at=at)

    @_refuse_on_fault
    def export(self, request: requests.Export) -> responses.Exported:
        with scratch_folder("export") as scratch:
            source = self._source(request.session, scratch)
            if request.path is None:
                return responses.Exported(None, self._text_of(source, request.format))
            path = self._path(request.path, "path")
            if path.resolve().is_relative_to((self._home / FOLDER).resolve()) or _is_same(path, source):
                raise RequestRefusedError(f"path: {path} is where sessions are kept; choose another place")
            if request.format == "zotsession":
                path = export_portable(source, path)
            else:
                write_file(path, [_render(source, request.format)])
            return responses.Exported(_text(path), None)

    def _text_of(self, source: Path, form: str) -> str:
        text = _render(source, form)
        if len(text) > TEXT_LIMIT:
            size = f"{len(text):,} bytes are over the {TEXT_LIMIT >> 20} MiB that an answer may have"
            raise RequestRefusedError(f"export: {size}; give a path")
        return text.decode("utf-8", "replace")

    def _source(self, session: str | None, scratch: Path) -> Path:
        """The file to export. For a conversation without a file, one is made below `scratch`."""
        if session is not None:
            return self._find(session, "session")
        own = self._own_file()
        return self._copy_of_own(scratch) if own is None else own

    @_refuse_on_fault
    def import_(self, request: requests.Import) -> responses.Imported:
        path = self._path(request.path, "path")
        made = import_session(path, self._home, cwd=self._cwd, version=self._version)
        return responses.Imported(store.describe(made).id, _text(made))

    # --- files --------------------------------------------------------------------------------------------

    def _find(self, text: str, field: str) -> Path:
        """The file of a session, by its id, the beginning of its id, or its path."""
        return find(self._home, self._cwd, text, named=field, base=self._cwd)

    def _path(self, text: str, field: str) -> Path:
        if not text.strip() or "\0" in text:
            raise RequestRefusedError(f"{field}: {'it has a NUL character' if text.strip() else 'it is empty'}")
        return Path(self._cwd, text)


def _render(source: Path, form: str) -> bytes:
    match form:
        case "zotsession":
            return portable_text(source)
        case "json":
            return export_json(read_history(source))
        case "html":
            from agent.sessions.export.html import export_html  # most servers never export

            return export_html(read_history(source)).encode("utf-8", "replace")
        case _:
            return export_markdown(read_history(source)).encode("utf-8", "replace")


def _branch(branch: Branch[store.SessionInfo]) -> sessions.Branch:
    return branch_record(branch.session, tuple(map(_branch, branch.children)))


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _text(path: Path) -> str:
    return valid_text(str(path))
