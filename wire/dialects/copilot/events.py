"""Sends events to the extension in the SDK's form, and keeps the newest ones in case it asks for them. Pure."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Raw, UnsetType

from wire import frames
from wire.dialects.copilot.hooks import text_of_result
from wire.dialects.copilot.permissions import permission_request
from wire.dialects.copilot.tool_names import copilot_args, copilot_name
from wire.dialects.jsonrpc import encode
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from wire.dialects.base import HostInfo
    from wire.dialects.copilot.join import Join
    from wire.dialects.copilot.requests import SentRequests

KEPT_EVENTS = 200
KEPT_BYTES = 1024 * 1024
"""Maximum size in bytes of all kept events. A larger event is sent and not kept."""
IDLE = "session.idle"
USAGE = "assistant.usage"
EPHEMERAL = frozenset({IDLE, USAGE})
"""Types that are sent and not kept."""
LONG_ARGS = 64 * 1024
"""Maximum size in bytes of arguments that a permission request repeats, in up to three forms."""
TEXT_SHOWN = 1000
"""Number of characters of each text in a permission request about longer arguments."""
ERROR_TYPES = {"model_call": "query"}
"""The SDK's category of an error by our context, if the names differ."""

NO_TOKENS = frames.Tokens(0, 0, 0, 0)

Data = dict[str, Any]


class Events:
    """The events of one session, as one extension sees them."""

    def __init__(self, joined: Join, requests: SentRequests, unix_ms: Callable[[], int], host: HostInfo) -> None:
        self.joined = joined
        self._requests = requests
        self._host = host
        self._began_at = unix_ms()
        self.start = requests.time().decode()
        """Start of the session for this extension, as a time of the SDK."""
        self._has_begun = False
        self.model = host.model
        """The model of the last request, before it the model at the start; "" if unknown."""
        self._turn = "0"
        self._was_aborted = False
        self._kept: deque[bytes] = deque()
        self._kept_bytes = 0

    @property
    def kept(self) -> bytes:
        """The kept events as a JSON list, oldest first."""
        return b"[%b]" % b",".join(self._kept)

    def event(self, event: frames.Event) -> bytes:
        """Returns the bytes for a neutral event; empty for an event that the SDK does not have."""
        return b"".join(self._tell(kind, data) for kind, data in self._translate(event))

    def _tell(self, kind: str, data: Data) -> bytes:
        before = self._requests.last_event
        envelope = self._requests.envelope(kind, encode(data))
        if kind not in EPHEMERAL:
            self._keep(envelope)
            return self._requests.told(envelope)
        self._requests.last_event = before  # the next event must not refer to one that is not kept
        return self._requests.told(b'%b,"ephemeral":true}' % envelope[:-1])

    def _keep(self, envelope: bytes) -> None:
        if len(envelope) > KEPT_BYTES:
            return
        self._kept.append(envelope)
        self._kept_bytes += len(envelope)
        while len(self._kept) > KEPT_EVENTS or self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popleft())

    # --- translation --------------------------------------------------------------------------------------

    def _translate(self, event: frames.Event) -> Iterable[tuple[str, Data]]:
        translate = _TRANSLATIONS.get(event.event)
        return () if translate is None else translate(self, event)

    def _user_prompt(self, event: frames.Event) -> Iterator[tuple[str, Data]]:
        self._was_aborted = False
        if not self._has_begun:
            self._has_begun = True
            yield "session.start", self._session_start()
        yield "user.message", self._user_message(event)

    def _assistant_message(self, event: frames.Event) -> Iterator[tuple[str, Data]]:
        said = {"messageId": self._requests.next_id(), "content": event.text or "", "toolRequests": []}
        yield "assistant.message", {**said, "turnId": self._turn}

    def _turn_start(self, event: frames.Event) -> Iterator[tuple[str, Data]]:
        self._turn = str(event.step or 0)
        yield "assistant.turn_start", {"turnId": self._turn}

    def _turn_end(self, event: frames.Event) -> Iterator[tuple[str, Data]]:
        self._was_aborted = event.stop == "aborted"
        if self._was_aborted:
            yield "abort", {"reason": "user_initiated"}
        yield "assistant.turn_end", {"turnId": self._turn}

    def _tool_complete(self, event: frames.Event) -> Iterator[tuple[str, Data]]:
        yield "tool.execution_complete", self._tool_result(event)

    def _idle(self, _event: frames.Event) -> Iterator[tuple[str, Data]]:
        yield IDLE, {"aborted": self._was_aborted, "backgroundTasks": {"agents": [], "shells": []}}

    def _error(self, event: frames.Event) -> Iterator[tuple[str, Data]]:
        yield "session.error", _error(event)

    def _session_end(self, event: frames.Event) -> Iterator[tuple[str, Data]]:
        yield "session.shutdown", self._shutdown(event)

    def _session_start(self) -> Data:
        """Returns the data of the session's start: its id and its folders."""
        host = self._host
        return {
            "sessionId": self.joined.session_id,
            "version": 1,
            "producer": "zot",
            "copilotVersion": host.version,
            "startTime": self.start,
            **({"selectedModel": host.model} if host.model else {}),
            "context": {"cwd": valid_text(host.cwd)},
        }

    def _usage(self, event: frames.Event) -> Iterator[tuple[str, Data]]:
        """Copilot includes cached tokens in the input. A change of the model is reported at its first use."""
        model, tokens = event.model or "", event.tokens or NO_TOKENS
        if model and model != self.model:
            yield "session.model_change", {**({"previousModel": self.model} if self.model else {}), "newModel": model}
            self.model = model
        yield (
            USAGE,
            {
                "model": model,
                "inputTokens": tokens.input + tokens.cache_read + tokens.cache_write,
                "outputTokens": tokens.output,
                "cacheReadTokens": tokens.cache_read,
                "cacheWriteTokens": tokens.cache_write,
                **({} if tokens.reasoning is None else {"reasoningTokens": tokens.reasoning}),
            },
        )

    def _user_message(self, event: frames.Event) -> Data:
        files = [valid_text(path) for path in event.files or ()]
        return {
            "content": event.text or "",
            "attachments": [
                {"type": "file", "path": path, "displayName": path.rstrip("/").rpartition("/")[2] or path}
                for path in files
            ],
            "source": event.sender or "user",
        }

    def _tool_call(self, event: frames.Event) -> Iterator[tuple[str, Data]]:
        """Tells an extension without a permission handler that the host granted the permission."""
        call_id, name = event.tool_id or "", event.tool_name or ""
        tool = self.joined.tools.get(name)
        if not self.joined.asks_permission and not (tool is not None and tool.skip_permission):
            asked = permission_request(event, self.joined, self._host.cwd)
            yield (
                "permission.requested",
                {
                    "requestId": self._requests.next_id(),
                    "permissionRequest": _display_request(asked, event.tool_args),
                    "resolvedByHook": True,
                },
            )
        yield (
            "tool.execution_start",
            {
                "toolCallId": call_id,
                "toolName": copilot_name(name),
                "arguments": _arguments(name, event.tool_args, self._host.cwd),
                "turnId": self._turn,
            },
        )

    def _tool_result(self, event: frames.Event) -> Data:
        content = event.content or []
        text = text_of_result(content)
        told: Data = {
            "toolCallId": event.tool_id or "",
            "toolName": copilot_name(event.tool_name or ""),
            "success": not event.is_error,
            "turnId": self._turn,
        }
        if event.is_error:
            return told | {"error": {"message": text or "the tool failed"}}
        result: Data = {"content": text}
        if any(block.type == "image" for block in content):
            result["contents"] = [
                {"type": "image", "data": block.data or "", "mimeType": block.mime_type or ""}
                if block.type == "image"
                else {"type": "text", "text": block.text or ""}
                for block in content
            ]
        return told | {"result": result}

    def _shutdown(self, event: frames.Event) -> Data:
        is_error = event.reason in ("error", "timeout")
        return {
            "shutdownType": "error" if is_error else "routine",
            **({"errorReason": event.error or event.reason} if is_error else {}),
            "totalPremiumRequests": 0,
            "totalApiDurationMs": 0,
            "sessionStartTime": self._began_at,
            "codeChanges": {"linesAdded": 0, "linesRemoved": 0, "filesModified": []},
            "modelMetrics": {},
        }


_TRANSLATIONS: Mapping[str, Callable[[Events, frames.Event], Iterable[tuple[str, Data]]]] = {
    "user_prompt": Events._user_prompt,
    "assistant_message": Events._assistant_message,
    "turn_start": Events._turn_start,
    "usage": Events._usage,
    "turn_end": Events._turn_end,
    "tool_call": Events._tool_call,
    "tool_result": Events._tool_complete,
    "idle": Events._idle,
    "error": Events._error,
    "session_end": Events._session_end,
}


def _error(event: frames.Event) -> Data:
    """The SDK uses `stack` as the stack of the error that it throws: without it, the error would have no text."""
    message = event.error or "unknown error"
    context = event.error_context or "model_call"
    return {"errorType": ERROR_TYPES.get(context, context), "message": message, "stack": f"Error: {message}"}


def _display_request(request: Data, args: Raw | UnsetType) -> Data:
    """Returns a permission request for display. The event behind it has the whole arguments, so if they are long, the
    texts here are cut, and objects and lists are empty."""
    if args is UNSET or len(args) <= LONG_ARGS:
        return request
    return {
        name: value[:TEXT_SHOWN]
        if isinstance(value, str)
        else type(value)()
        if isinstance(value, dict | list)
        else value
        for name, value in request.items()
    }


def _arguments(name: str, args: Raw | UnsetType, cwd: str) -> Any:
    """Returns the arguments in the form of Copilot's tool of that name; {} if the model wrote none."""
    value = None if args is UNSET else copilot_args(name, args, cwd)
    return {} if value is None else value
