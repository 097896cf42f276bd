"""The session of one client, in the era that its first request decides. Pure: no clock, no I/O. Every method returns
actions, which the server carries out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw

from wire.dialects import jsonrpc
from wire.dialects.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, Incoming, encode
from wire.dialects.mcp import protocol
from wire.dialects.mcp.protocol import LEGACY, LOG_LEVELS, MODERN
from wire.frames.tool_results import error_result
from wire.lenient_json import UNREADABLE
from wire.mcp_server import answers
from wire.mcp_server.offer import Abandon, Action, Call, Invoke, Offer, Say
from wire.mcp_server.requests import (
    BadParamsError,
    CallParams,
    Cancelled,
    ClientRequest,
    Era,
    Key,
    Level,
    Listen,
    PromptParams,
    SubscriptionFilter,
    Version,
    call_arguments,
    key_of,
    read_meta,
    read_params,
)
from wire.suggestions import command_key, no_such

if TYPE_CHECKING:
    from collections.abc import Callable

    from wire import frames
    from wire.framing import Line, Oversize

REQUESTS_LIMIT = 1000
"""Maximum number of unanswered requests, subscriptions included."""
DEFAULT_LEVEL = LOG_LEVELS.index("warning")
"""The lowest level of log messages for a session whose client has set none."""
REASON_LENGTH = 500
"""Maximum length in characters of the client's reason for a cancellation."""
_VERSIONS = (MODERN, *LEGACY)
_NO_ID = b"null"
_SUBSCRIPTION = f"{protocol.META_PREFIX}subscriptionId"


class _Open(msgspec.Struct):
    """An unanswered request."""

    request: ClientRequest
    name: str = ""
    """Name of the tool or the command."""
    reports: int = 0
    """Number of progress reports so far."""
    wanted: SubscriptionFilter | None = None
    """The changes that a subscription asks for; None for other requests."""


class ServedSession:
    """The session of one client. Requests about tools and prompts wait for the first `offered`."""

    def __init__(self, version: str, describe: Callable[[], str], is_described: Callable[[], bool]) -> None:
        """`describe` returns the instructions for the client. Until `is_described` returns true they are incomplete,
        and requests for them wait, too."""
        self.era = Era.OPEN
        self._version = version
        self._describe = describe
        self._is_described = is_described
        self._offer: Offer | None = None
        self._open: dict[Key, _Open] = {}
        self._waiting: list[ClientRequest] = []
        self._listed: set[str] = set()
        """The lists that the client has asked for: `tools`, `prompts`."""
        self._level = DEFAULT_LEVEL
        self._methods: dict[Era, dict[str, Callable[[ClientRequest], list[Action]]]] = {
            Era.OPEN: {},
            Era.LEGACY: {protocol.PING: self._ping, protocol.SET_LEVEL: self._set_level},
            Era.MODERN: {protocol.DISCOVER: self._discover, protocol.LISTEN: self._listen},
        }
        self._of_offer: dict[str, Callable[[ClientRequest], list[Action]]] = {
            protocol.LIST_TOOLS: self._list,
            protocol.LIST_PROMPTS: self._list,
            protocol.CALL_TOOL: self._call,
            protocol.GET_PROMPT: self._get_prompt,
        }

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for its answer. Subscriptions do not count: they are answered at the end."""
        return not self._waiting and all(opened.wanted is not None for opened in self._open.values())

    @property
    def offer(self) -> Offer:
        """The last offer that the client knows."""
        return self._offer or Offer()

    # --- from the client --------------------------------------------------------------------------------------

    def receive(self, line: Line) -> list[Action]:
        """Takes one line of the client."""
        actions: list[Action] = []
        for message in jsonrpc.read(line, has_noise=False):
            if isinstance(message, Incoming):
                actions += self._take(message)
            else:
                named = message.seen.id if message.code == INVALID_REQUEST else b""  # otherwise it may not be an id
                actions.append(_refuse(named, message.code, message.reason))
        return actions

    def receive_oversize(self, line: Oversize) -> list[Action]:
        """Takes the kept ends of a line that was too long. Its id may be near its start or its end. Answers and
        notifications are ignored: they need no answer."""
        named = jsonrpc.peek(line.prefix, line.suffix)
        if named.is_answer or (named.method.startswith("notifications/") and key_of(named.id) is None):
            return []
        what = f"the {named.method} message" if named.method else "the message"
        text = f"{what} has {line.size} bytes; a message may have {line.limit}"
        return [_refuse(named.id, INVALID_REQUEST, text)]

    def _take(self, message: Incoming) -> list[Action]:
        """Takes one message. Answers are ignored: the server sends no requests."""
        written = b"" if message.id is UNSET else bytes(message.id)
        params = b"" if message.params is UNSET else bytes(message.params)
        if message.method is None:
            is_answer = written and (message.result is not UNSET or message.error is not UNSET)
            return [] if is_answer else [_refuse(written, INVALID_REQUEST, "a message needs a method")]
        if not written:
            return self._notified(message.method, params)
        if (key := key_of(written)) is None:
            return [_refuse(written, INVALID_REQUEST, "the id of a request is a string or a number")]
        if params in (b"", b"null"):
            params = b"{}"
        return self._asked(ClientRequest(message.method, written, key, params, read_meta(params)))

    def _asked(self, request: ClientRequest) -> list[Action]:
        if request.method != protocol.INITIALIZE and (refusal := self._choose_era(request)):
            return [refusal]
        if request.key in self._open or any(request.key == waiting.key for waiting in self._waiting):
            return [_fail(request, INVALID_REQUEST, "a request with this id is still under way")]
        if request.method == protocol.INITIALIZE:
            return self._tried(self._initialize, request)
        if self.era is Era.OPEN:
            return self._ping(request)
        if handler := self._methods[self.era].get(request.method):
            return self._tried(handler, request)
        if request.method not in self._of_offer:
            return [_fail(request, METHOD_NOT_FOUND, f"there is no method {request.method[:80]!r} here")]
        if self._offer is None or self._is_full:
            return self._wait(request)
        return self._tried(self._of_offer[request.method], request)

    @property
    def _is_full(self) -> bool:
        return len(self._open) + len(self._waiting) >= REQUESTS_LIMIT

    def _wait(self, request: ClientRequest) -> list[Action]:
        """Keeps a request until the first offer."""
        if self._is_full:
            return [_fail(request, INTERNAL_ERROR, f"{REQUESTS_LIMIT} requests are under way; wait for answers")]
        self._waiting.append(request)
        return []

    def _choose_era(self, request: ClientRequest) -> Say | None:
        """Sets the era at the first request. Returns the refusal of a request of another era, else None."""
        is_modern = request.meta.version is not None or (request.method == protocol.DISCOVER and self.era is Era.OPEN)
        if self.era is Era.LEGACY:
            if is_modern:
                text = "this session began with initialize: its requests have no version of their own"
                return _fail(request, INVALID_REQUEST, text)
            return None
        if not is_modern:
            if self.era is Era.MODERN:
                text = f"each request needs {protocol.META_PREFIX}protocolVersion in its _meta"
                return _fail(request, INVALID_PARAMS, text)
            if request.method == protocol.PING:
                return None
            return _fail(request, INVALID_REQUEST, "initialize, or server/discover, must come first")
        if request.meta.version is not None and request.meta.version != MODERN:
            data = {"supported": _VERSIONS, "requested": request.meta.version}
            return _fail(request, protocol.UNSUPPORTED_VERSION, "unsupported protocol version", data)
        self.era = Era.MODERN
        return None

    @staticmethod
    def _tried(handler: Callable[[ClientRequest], list[Action]], request: ClientRequest) -> list[Action]:
        try:
            return handler(request)
        except BadParamsError as error:
            return [_fail(request, INVALID_PARAMS, str(error))]

    def _notified(self, method: str, params: bytes) -> list[Action]:
        if method != protocol.CANCELLED:
            return []
        try:
            cancelled = msgspec.json.decode(params, type=Cancelled)
        except UNREADABLE:
            return []
        key = key_of(cancelled.id)
        self._waiting = [request for request in self._waiting if request.key != key]
        opened = self._open.pop(key, None) if key is not None else None
        if opened is None or opened.wanted is not None:
            return []
        why = cancelled.reason if isinstance(cancelled.reason, str) else ""
        text = f"the client has cancelled it: {why}" if why else "the client has cancelled it"
        return [Abandon(opened.request.key, text[:REASON_LENGTH])]

    # --- requests about the session -----------------------------------------------------------------------------

    def _initialize(self, request: ClientRequest) -> list[Action]:
        """Begins a session, even for a client that has sent `server/discover` before."""
        asked = read_params(request, Version).version
        self.era = Era.LEGACY
        self._level = DEFAULT_LEVEL
        if self._must_wait:
            return self._wait(request)
        result = {
            "protocolVersion": answers.choose_version(asked),
            "capabilities": answers.capabilities(),
            "serverInfo": answers.server_info(self._version),
            "instructions": self._describe(),
        }
        return [Say(jsonrpc.answer(request.id, encode(result)))]

    @property
    def _must_wait(self) -> bool:
        """Whether the instructions are still incomplete."""
        return self._offer is None and not self._is_described()

    def _discover(self, request: ClientRequest) -> list[Action]:
        if self._must_wait:
            return self._wait(request)
        result = {
            "supportedVersions": _VERSIONS,
            "capabilities": answers.capabilities(),
            "instructions": self._describe(),
        }
        return [self._result(request, answers.mark_uncached(result))]

    def _ping(self, request: ClientRequest) -> list[Action]:
        return [Say(jsonrpc.answer(request.id, b"{}"))]

    def _set_level(self, request: ClientRequest) -> list[Action]:
        level = read_params(request, Level).level
        if level not in LOG_LEVELS:
            raise BadParamsError(f"there is no level {level[:80]!r}; it is one of {', '.join(LOG_LEVELS)}")
        self._level = LOG_LEVELS.index(level)
        return [Say(jsonrpc.answer(request.id, b"{}"))]

    def _listen(self, request: ClientRequest) -> list[Action]:
        """Opens a subscription. It stays open until the client cancels it or the server ends."""
        if len(self._open) >= REQUESTS_LIMIT:
            return [_fail(request, INTERNAL_ERROR, f"{REQUESTS_LIMIT} requests are under way")]
        wanted = read_params(request, Listen).notifications
        self._open[request.key] = _Open(request, wanted=wanted)
        asked = {"toolsListChanged": wanted.tools, "promptsListChanged": wanted.prompts}
        params = {"notifications": {name: True for name, is_asked in asked.items() if is_asked}}
        return [Say(self._about_subscription(request, protocol.ACKNOWLEDGED, params))]

    # --- requests about tools and prompts -----------------------------------------------------------------------

    def _list(self, request: ClientRequest) -> list[Action]:
        """Returns the whole list for any cursor: it has one page."""
        kind = request.method.partition("/")[0]
        self._listed.add(kind)
        found = (
            [answers.tool_definition(tool) for tool in self.offer.tools]
            if kind == "tools"
            else [answers.prompt_definition(command) for command in self.offer.commands]
        )
        result = {kind: found}
        return [self._result(request, answers.mark_uncached(result) if self.era is Era.MODERN else result)]

    def _call(self, request: ClientRequest) -> list[Action]:
        params = read_params(request, CallParams)
        args = b"{}" if params.arguments is UNSET else call_arguments(bytes(params.arguments))
        self._open[request.key] = _Open(request, params.name)
        return [Call(request.key, params.name, args, request.meta.context)]

    def _get_prompt(self, request: ClientRequest) -> list[Action]:
        params = read_params(request, PromptParams)
        given = dict(params.arguments or {})
        text = given.pop(answers.ARGUMENTS, "")
        if given:
            raise BadParamsError(f"a prompt takes one argument, {answers.ARGUMENTS!r}, not {min(given)[:80]!r}")
        known = {command_key(command.name): command.name for command in self.offer.commands}
        if (name := known.get(command_key(params.name))) is None:
            raise BadParamsError(no_such("prompt", params.name, known.values()))
        self._open[request.key] = _Open(request, name)
        return [Invoke(request.key, name, text)]

    # --- from the extensions ------------------------------------------------------------------------------------

    def called(self, key: Key, result: frames.ToolResult) -> list[Action]:
        """Called with the result of a call. Says nothing if the client has cancelled the call."""
        opened = self._open.pop(key, None)
        if opened is None:
            return []
        is_promised = any(tool.name == opened.name and answers.promises_structure(tool) for tool in self.offer.tools)
        return [self._result(opened.request, answers.call_result(result, is_promised=is_promised))]

    def invoked(self, key: Key, answer: frames.CommandResponse) -> list[Action]:
        """Called with the answer to a command."""
        opened = self._open.get(key)
        if opened is None:
            return []
        if answer.error:
            return self.failed(key, INTERNAL_ERROR, f"/{opened.name}: {answer.error}")
        del self._open[key]
        about = {command.name: command.description for command in self.offer.commands}.get(opened.name, "")
        return [self._result(opened.request, answers.prompt_result(opened.name, about, answer))]

    def failed(self, key: Key, code: int, text: str) -> list[Action]:
        """Called if a call or a command could not be started."""
        opened = self._open.pop(key, None)
        return [] if opened is None else [_fail(opened.request, code, text)]

    def progressed(self, key: Key, text: str) -> list[Action]:
        """Called with a progress report of a call. Sends it if the client wants it."""
        opened = self._open.get(key)
        if opened is None or (token := opened.request.meta.progress_token) is None:
            return []
        opened.reports += 1
        params = {"progressToken": token, "progress": opened.reports, "message": text}
        return [Say(jsonrpc.notification(protocol.PROGRESS, encode(params)), is_vital=False)]

    def offered(self, offer: Offer) -> list[Action]:
        """Called with a new offer of the extensions. The first offer answers the requests that waited for it; a later
        one tells the client if a list that it knows differs."""
        before, self._offer = self._offer, offer
        if before is not None:
            changed = {"tools": offer.tools != before.tools, "prompts": offer.commands != before.commands}
            return [
                action for kind, has_changed in changed.items() if has_changed for action in self._list_changed(kind)
            ]
        waiting, self._waiting = self._waiting, []
        first = {protocol.INITIALIZE: self._initialize, protocol.DISCOVER: self._discover, **self._of_offer}
        return [action for request in waiting for action in self._tried(first[request.method], request)]

    def _list_changed(self, kind: str) -> list[Action]:
        method = f"notifications/{kind}/list_changed"
        if self.era is Era.LEGACY:
            return [Say(jsonrpc.notification(method))] if kind in self._listed else []
        return [
            Say(self._about_subscription(opened.request, method, {}))
            for opened in self._open.values()
            if opened.wanted is not None and (opened.wanted.tools if kind == "tools" else opened.wanted.prompts)
        ]

    def logged(self, level: str, logger: str, text: str) -> list[Action]:
        """Called with a message of an extension. Sends it if the client wants messages of this level."""
        if self.era is Era.OPEN:
            return []
        every = (each.request.meta.log_level for each in self._open.values())
        wanted = [self._level] if self.era is Era.LEGACY else [least for least in every if least is not None]
        if LOG_LEVELS.index(level) < min(wanted, default=len(LOG_LEVELS)):
            return []
        params = {"level": level, "logger": logger, "data": text}
        return [Say(jsonrpc.notification(protocol.LOG_MESSAGE, encode(params)), is_vital=False)]

    def end(self, reason: str) -> list[Action]:
        """Answers all open requests: the server stops for this reason."""
        actions: list[Action] = [_fail(request, INTERNAL_ERROR, reason) for request in self._waiting]
        for opened in self._open.values():
            if opened.wanted is not None:
                meta = {_SUBSCRIPTION: Raw(opened.request.id)}
                actions.append(self._result(opened.request, {"_meta": meta}))
            elif opened.request.method == protocol.CALL_TOOL:
                actions.append(self._result(opened.request, answers.call_result(error_result(reason))))
            else:
                actions.append(_fail(opened.request, INTERNAL_ERROR, reason))
        self._waiting.clear()
        self._open.clear()
        return actions

    # --- lines --------------------------------------------------------------------------------------------------

    def _result(self, request: ClientRequest, result: dict[str, Any]) -> Say:
        said = answers.as_modern(result, self._version) if self.era is Era.MODERN else result
        return Say(jsonrpc.answer(request.id, encode(said)))

    @staticmethod
    def _about_subscription(request: ClientRequest, method: str, params: dict[str, Any]) -> bytes:
        return jsonrpc.notification(method, encode({**params, "_meta": {_SUBSCRIPTION: Raw(request.id)}}))


def _fail(request: ClientRequest, code: int, text: str, data: Any = None) -> Say:
    return Say(jsonrpc.refusal(request.id, code, text, b"" if data is None else encode(data)))


def _refuse(written_id: bytes, code: int, text: str) -> Say:
    """Returns the answer to a line that is not a request. Its id is null if the line has no usable id."""
    return Say(jsonrpc.refusal(_NO_ID if key_of(written_id) is None else written_id, code, text))
