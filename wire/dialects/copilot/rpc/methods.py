"""Carries out the extension's requests: at once if the session can answer alone, else as a call of the host. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire import frames
from wire.dialects.base import HostCalled, HostInfo, Instructions, Message, Received, Remarked
from wire.dialects.copilot.requests import encode_answer, encode_error, encode_value
from wire.dialects.copilot.rpc.params import WrongParamsError, names_of, reader
from wire.dialects.copilot.rpc.table import ABOUT_WORKSPACE, METHODS, Method, NotThereError
from wire.dialects.json_values import string, text_of
from wire.dialects.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, SERVER_ERROR, encode
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wire.dialects.copilot.events import Events
    from wire.dialects.copilot.join import Join
    from wire.dialects.copilot.requests import SentRequests

OPEN_LIMIT = 100
"""Maximum number of open calls of the host. Further ones are refused."""
REMARKS_LIMIT = 100
"""Maximum number of methods and options about which a line is logged, each once."""
NAME_SHOWN = 80
NO_ANSWERS_AFTER = "session.detach"
"""The method to leave the session of an SDK that then abandons running handlers. With older SDKs they go on."""
LEVELS = {"info": "info", "success": "success", "warning": "warn", "warn": "warn", "error": "error"}
"""Our level for each level of the extension. An unknown level counts as info."""


class _Log(msgspec.Struct, frozen=True):
    """Accepts any value: many extensions do not wait for the answer, and a rejection ends their process."""

    message: Any = None
    level: Any = None
    ephemeral: Any = None
    type: Any = None
    url: Any = None
    tip: Any = None


class _Interest(msgspec.Struct, frozen=True):
    eventType: str  # noqa: N815


class _Interested(msgspec.Struct, frozen=True):
    handle: str


class _Any(msgspec.Struct, frozen=True):
    pass


class _Open(NamedTuple):
    """An open call of the host."""

    name: str
    method: Method
    params: Any
    written_id: bytes
    message_id: str
    """Id of the message for a sent prompt, else ""."""


_read_log = reader(_Log)
_read_interest = reader(_Interest)
_read_interested = reader(_Interested)
_read_any = reader(_Any)


class Methods:
    """The requests of one extension to its host, except the join and answers to the host's own requests."""

    def __init__(self, joined: Join, requests: SentRequests, host: HostInfo, events: Events) -> None:
        self.has_left = False
        """Whether the extension has left the session."""
        self._joined = joined
        self._requests = requests
        self._host = host
        self._events = events
        self._open: dict[str, _Open] = {}
        self._count = 0
        self._remarked: set[str] = set()
        self._at_once: dict[str, Callable[[bytes, Raw | UnsetType], Received]] = {
            "session.log": self._log,
            "session.getMessages": self._messages,
            "session.metadata.snapshot": self._snapshot,
            NO_ANSWERS_AFTER: self._leave,
            "session.destroy": self._leave,
            "session.options.update": self._update_options,
            "session.eventLog.registerInterest": self._register_interest,
            "session.eventLog.releaseInterest": self._release_interest,
        }

    def take(self, method: str, written_id: bytes, params: Raw | UnsetType) -> Received:
        """Takes a request, or a notification, which has an empty id. Never raises."""
        try:
            if (at_once := self._at_once.get(method)) is not None:
                return at_once(written_id, params)
            if (known := METHODS.get(method)) is not None:
                return self._call(method, known, written_id, params)
        except WrongParamsError as error:
            said = f"{method}: {error}"
            return (
                (Remarked(f"wrong parameters of {one_line(said, 200)}"),),
                self._refusal(written_id, INVALID_PARAMS, said),
            )
        shown = one_line(method, NAME_SHOWN)
        return (
            tuple(self._remarks([f"asks for {shown!r}, which this host does not offer; refused"])),
            self._refusal(written_id, METHOD_NOT_FOUND, f"Unhandled method {shown}"),
        )

    def answer(self, key: str, value: Any) -> bytes:
        """Answers a call; empty if no open call has this key."""
        if (call := self._open.pop(key, None)) is None:
            return b""
        if call.message_id:
            return self._result(call.written_id, {"messageId": call.message_id})
        try:
            return self._result(call.written_id, call.method.result(value, call.params))
        except NotThereError as error:
            return self._refusal(call.written_id, SERVER_ERROR, f"{call.name}: {error}")

    def refuse(self, key: str, reason: str) -> bytes:
        """Answers a call that is not carried out; empty if no open call has this key."""
        if (call := self._open.pop(key, None)) is None:
            return b""
        if call.name == "session.abort":
            return self._result(call.written_id, {"success": False, "error": reason})
        return self._refusal(call.written_id, SERVER_ERROR, f"{call.name}: {reason}")

    # --- calls of the host --------------------------------------------------------------------------------

    def _call(self, name: str, method: Method, written_id: bytes, params: Raw | UnsetType) -> Received:
        read = method.read(params)
        call = method.call(read)
        remarks = self._remarks(f"{name}: {ignored} has no effect here" for ignored in method.ignored(read))
        if not self._host.workspace and isinstance(call, ABOUT_WORKSPACE):
            if method.without_workspace is UNSET:
                return remarks, self._refusal(written_id, SERVER_ERROR, f"{name}: this host has no workspace")
            return remarks, self._result(written_id, method.without_workspace)
        if len(self._open) >= OPEN_LIMIT:
            why = f"{name}: {OPEN_LIMIT} requests wait for their answers; await them before the next one"
            return remarks, self._refusal(written_id, SERVER_ERROR, why)
        self._count += 1
        key = str(self._count)
        message_id = self._requests.next_id() if name == "session.send" else ""
        self._open[key] = _Open(name, method, read, written_id, message_id)
        return (*remarks, HostCalled(key, call)), b""

    # --- answered at once ---------------------------------------------------------------------------------

    def _log(self, written_id: bytes, params: Raw | UnsetType) -> Received:
        said = _read_log(params)
        level = LEVELS.get(string(said.level), "info")
        message = "" if said.message is None else text_of(said.message)
        text = " ".join(part for part in (message, string(said.tip), string(said.url)) if part)
        shown: list[Message] = [frames.Notify(level, text)] if text else []
        if text and not said.ephemeral:
            kind = string(said.type)
            shown.append(frames.Log(text, level, {"type": Raw(encode(kind))} if kind else None))
        return shown, self._result(written_id, {"eventId": self._requests.next_id()})

    def _messages(self, written_id: bytes, params: Raw | UnsetType) -> Received:
        _read_any(params)
        events = encode_answer(written_id, b'{"events":%b}' % self._events.kept) if written_id else b""
        return (), events

    def _snapshot(self, written_id: bytes, params: Raw | UnsetType) -> Received:
        _read_any(params)
        host = self._host
        session = {
            "sessionId": self._joined.session_id,
            "startTime": self._events.start,
            "modifiedTime": self._requests.time().decode(),
            "isRemote": False,
            "alreadyInUse": False,
            "workspacePath": host.workspace or None,
            "workingDirectory": host.cwd,
            "currentMode": "interactive",
            "sessionLimits": None,
        }
        model = {"selectedModel": self._events.model} if self._events.model else {}
        return (), self._result(written_id, session | model)

    def _leave(self, written_id: bytes, params: Raw | UnsetType) -> Received:
        """Its SDK no longer answers calls. Its hooks stay: a missing answer counts as any other failure."""
        _read_any(params)
        self.has_left = True
        gone: list[Message] = [frames.UnregisterTool(tool.name) for tool in self._joined.tool_frames()]
        if self._joined.instructions:
            gone.append(Instructions(""))
        left = self._remarks(["it has left the session: its tools are gone"])
        return [*left, *gone], self._result(written_id, {"success": True})

    def _update_options(self, written_id: bytes, params: Raw | UnsetType) -> Received:
        _read_any(params)
        remarks = self._remarks(
            f"session.options.update: {one_line(name, NAME_SHOWN)} has no effect here"
            for name in names_of(params)
            if name != "sessionId"
        )
        return remarks, self._result(written_id, {"success": True})

    def _register_interest(self, written_id: bytes, params: Raw | UnsetType) -> Received:
        _read_interest(params)
        return (), self._result(written_id, {"handle": self._requests.next_id()})

    def _release_interest(self, written_id: bytes, params: Raw | UnsetType) -> Received:
        _read_interested(params)
        return (), self._result(written_id, {"success": True})

    # --- answers and remarks ----------------------------------------------------------------------------------

    def _remarks(self, texts: Iterable[str]) -> tuple[Remarked, ...]:
        """Returns a remark for each text that is new."""
        remarks = []
        for text in texts:
            if len(self._remarked) >= REMARKS_LIMIT:
                break
            if text not in self._remarked:
                self._remarked.add(text)
                remarks.append(Remarked(text))
        return tuple(remarks)

    def _result(self, written_id: bytes, result: Any) -> bytes:
        return encode_value(written_id, result) if written_id else b""

    def _refusal(self, written_id: bytes, code: int, message: str) -> bytes:
        return encode_error(written_id, code, message) if written_id else b""
