"""The host's side of the protocol, for tests: sends frames, keeps those of the extension, and waits with a deadline."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

from ..content import Result, as_result
from .answers import CommandAnswer, Note, PanelState, ToolAnswer, VerdictAnswer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from typing import Any

    HostTools = Mapping[str, Callable[[dict[str, Any]], object] | None]

FEATURES = (
    "additional_context",
    "ask",
    "cancel",
    "error_event",
    "error_intercept",
    "idle_event",
    "log",
    "panels",
    "ping",
    "session_end_event",
    "session_end_intercept",
    "session_start_intercept",
    "tool_flags",
    "tool_progress",
    "tool_result_event",
    "tool_result_intercept",
    "tool_timeout",
    "unregister_tool",
    "user_prompt_event",
    "user_prompt_intercept",
)
"""Default features of this host; `features=()` is zot itself."""


class HostSide:
    """Base of `Harness` and `Program`. Every wait ends after `timeout_s` with a `TimeoutError`.

    `host_tools` are the tools that the extension can call, by name: functions from the arguments to the result, like
    those of a tool. For a name with None, the test itself sends the `tool_result`. Without `host_tools`, the host says
    that it calls no tools for extensions.
    """

    def __init__(self, timeout_s: float, host_tools: HostTools | None = None) -> None:
        self.timeout_s = timeout_s
        self._host_tools = host_tools
        self.frames: list[dict[str, Any]] = []
        """All frames of the extension, in order."""
        self._arrived = threading.Condition()
        self._last_id = 0
        self._session: dict[str, str] = {}

    # --- sessions -----------------------------------------------------------------------------------------

    @contextmanager
    def session(self, session_id: str, *, cwd: str = "") -> Iterator[None]:
        """In this block, frames go out as those of one of several runs that share the extension; `notes`, `prompts` and
        `panels` leave out those of other sessions."""
        before, self._session = self._session, {"session_id": session_id, "cwd": cwd}
        try:
            yield
        finally:
            self._session = before

    @contextmanager
    def lease(self, session_id: str, *, cwd: str = "") -> Iterator[None]:
        """In this block, the extension is leased to one run. Waits for its `lease_ready`; tells it of the session, and
        of its end before that of the lease."""
        lease = {"id": self._new_id(), "session_id": session_id}
        self._send({"type": "lease_begin", **lease, "cwd": cwd})
        self._answer_to(lease["id"], "lease_ready")
        with self.session(session_id, cwd=cwd):
            self.send_event("session_start")
            try:
                yield
            finally:
                self.send_event("session_end", reason="shutdown")
                self._send({"type": "lease_end", **lease})
                self._settle()

    # --- requests -----------------------------------------------------------------------------------------

    def call_tool(self, name: str, args: Mapping[str, Any] | None = None, /, **more: Any) -> ToolAnswer:
        """Calls a tool and waits for its result. Arguments as a dict, by name, or both."""
        return self.begin_tool(name, args, **more).wait()

    def begin_tool(self, name: str, args: Mapping[str, Any] | None = None, /, **more: Any) -> PendingTool:
        """Calls a tool without waiting, so that the test can watch and cancel the call."""
        call_id = self._new_id()
        self._ask({"type": "tool_call", "id": call_id, "name": name, "args": {**(args or {}), **more}})
        return PendingTool(self, call_id)

    def run_command(self, name: str, args: str = "") -> CommandAnswer:
        """Runs a slash command and waits for its answer."""
        call_id = self._new_id()
        self._ask({"type": "command_invoked", "id": call_id, "name": name, "args": args})
        return CommandAnswer(self._answer_to(call_id, "command_response"))

    def intercept(self, point: str, **fields: Any) -> VerdictAnswer:
        """Asks the guards of a point: tool_call, turn_start, assistant_message, user_prompt, tool_result or
        before_agent_start."""
        call_id = self._new_id()
        self._ask({"type": "event_intercept", "id": call_id, "event": point, **fields})
        return VerdictAnswer(self._answer_to(call_id, "event_intercept_response"))

    def intercept_tool_call(
        self, name: str, args: Mapping[str, Any] | None = None, *, tool_id: str = "t1"
    ) -> VerdictAnswer:
        """Asks the guards about the call of a tool."""
        return self.intercept("tool_call", tool_id=tool_id, tool_name=name, tool_args=dict(args or {}))

    def ping(self) -> None:
        """Sends a ping and waits for the answer, which does not wait for handlers."""
        call_id = self._new_id()
        self._send({"type": "ping", "id": call_id})
        self._answer_to(call_id, "pong")

    # --- events and panels --------------------------------------------------------------------------------

    def send_event(self, name: str, **fields: Any) -> None:
        """Sends an event. A `Harness` waits until it has been handled."""
        self._ask({"type": "event", "event": name, **fields})
        self._settle()

    def panel_key(self, panel_id: str, key: str, text: str = "") -> None:
        """Presses a key in a panel."""
        self._ask({"type": "panel_key", "panel_id": panel_id, "key": key, **({"text": text} if text else {})})
        self._settle()

    def panel_resize(self, panel_id: str, width: int, height: int) -> None:
        """Gives a panel another size."""
        self._ask({"type": "panel_resize", "panel_id": panel_id, "width": width, "height": height})
        self._settle()

    def panel_close(self, panel_id: str) -> None:
        """Closes a panel, as a user does."""
        self._ask({"type": "panel_close", "panel_id": panel_id})
        self._settle()

    # --- frames of the extension --------------------------------------------------------------------------

    @property
    def tools(self) -> dict[str, dict[str, Any]]:
        """The `register_tool` frames of the registered tools by name."""
        found: dict[str, dict[str, Any]] = {}
        for frame in self._said("register_tool", "unregister_tool"):
            found.pop(frame["name"], None)
            if frame["type"] == "register_tool":
                found[frame["name"]] = frame
        return found

    @property
    def commands(self) -> dict[str, str]:
        """Descriptions of the commands, by name."""
        return {frame["name"]: frame.get("description") or "" for frame in self._said("register_command")}

    @property
    def events(self) -> set[str]:
        """Events that the extension observes."""
        return {name for frame in self._said("subscribe") for name in frame.get("events") or ()}

    @property
    def guarded(self) -> set[str]:
        """Events that the extension's guards decide on."""
        return {name for frame in self._said("subscribe") for name in frame.get("intercept") or ()}

    @property
    def notes(self) -> list[Note]:
        """Notes that the user sees."""
        found: list[Note] = []
        for frame in self._shown("notify", "clear_notes"):
            if frame["type"] == "clear_notes":
                found.clear()
            else:
                found.append(Note(frame.get("level") or "", frame.get("message") or ""))
        return found

    @property
    def prompts(self) -> list[str]:
        """Prompts that the extension has submitted."""
        return [frame["text"] for frame in self._shown("submit")]

    @property
    def logs(self) -> list[dict[str, Any]]:
        """The `log` frames: message, level, fields."""
        return self._said("log")

    @property
    def panels(self) -> dict[str, PanelState]:
        """Panels that the extension has opened or drawn, and has not closed."""
        found: dict[str, PanelState] = {}
        for frame in self._shown("command_response", "open_panel", "panel_render", "panel_close"):
            if frame["type"] == "panel_close":
                found.pop(frame["panel_id"], None)
            elif frame["type"] == "panel_render":
                before = found.get(frame["panel_id"])
                kept = {"title": before.title, "footer": before.footer, "lines": before.lines} if before else {}
                found[frame["panel_id"]] = PanelState({**kept, **frame})
            elif panel := frame.get("open_panel") or frame.get("panel"):
                found[panel["id"]] = PanelState(panel)
        return found

    def wait_for(self, condition: Callable[[], object], what: str = "the condition") -> None:
        """Waits until the condition holds. It is checked after every frame of the extension, and a program's stderr."""
        deadline = time.monotonic() + self.timeout_s
        with self._arrived:
            while not condition():
                self._check_alive()
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"waited {self.timeout_s} s without success for {what}{self._last_words()}")
                self._arrived.wait(left)

    # --- for the subclasses -------------------------------------------------------------------------------

    def _send(self, frame: dict[str, Any]) -> None:
        raise NotImplementedError

    def _ask(self, frame: dict[str, Any]) -> None:
        self._send({**self._session, **frame})

    def _settle(self) -> None:
        """Waits until the event is handled, if that can be known."""

    def _check_alive(self) -> None:
        """Raises if no more frames can come."""

    def _last_words(self) -> str:
        return ""

    def _receive(self, frame: dict[str, Any]) -> None:
        with self._arrived:
            self.frames.append(frame)
            self._arrived.notify_all()
        if frame["type"] == "call_tool" and self._host_tools is not None:
            self._answer_call(frame, self._host_tools)

    def _answer_call(self, frame: dict[str, Any], tools: HostTools) -> None:
        name = frame["name"]
        try:
            if (tool := tools[name]) is None:
                return
            result = as_result(tool(frame["args"]))
        except Exception as error:
            result = Result(f"{error}" if name in tools else f"no tool {name!r}", is_error=True)
        said = {"content": result.as_json()["content"], "is_error": result.is_error, "truncated": result.truncated}
        self._send({"type": "tool_result", "id": frame["id"], "name": name, **said})

    def _said(self, *types: str) -> list[dict[str, Any]]:
        with self._arrived:
            return [frame for frame in self.frames if frame["type"] in types]

    def _shown(self, *types: str) -> list[dict[str, Any]]:
        """The frames of these types, without those of other sessions."""
        here = self._session.get("session_id")
        return [said for said in self._said(*types) if here is None or said.get("session_id") in (None, here)]

    def _answer_to(self, call_id: str, kind: str) -> dict[str, Any]:
        def found() -> list[dict[str, Any]]:
            return [frame for frame in self._said(kind) if frame.get("id") == call_id]

        self.wait_for(found, f"the {kind}")
        return found()[0]

    def _new_id(self) -> str:
        self._last_id += 1
        return str(self._last_id)

    def _hello_ack(self, cwd: str, extension_dir: str, data_dir: str, features: Collection[str]) -> dict[str, Any]:
        return {
            "type": "hello_ack",
            "protocol_version": 1,
            "zot_version": "test",
            "provider": "test",
            "model": "test",
            "cwd": cwd,
            "extension_dir": extension_dir,
            "data_dir": data_dir,
            "features": list(features),
            "capabilities": [] if self._host_tools is None else ["call_tool"],
        }


class PendingTool:
    """A running tool call."""

    def __init__(self, host: HostSide, call_id: str) -> None:
        self._host = host
        self.id = call_id

    def wait(self) -> ToolAnswer:
        """Waits for its result."""
        frame = self._host._answer_to(self.id, "tool_result")
        return ToolAnswer(frame, self.progress)

    def cancel(self, reason: str = "") -> None:
        """Cancels the call. `wait` still waits for an answer."""
        self._host._send({"type": "cancel", "id": self.id, "reason": reason})

    @property
    def progress(self) -> list[str]:
        """The progress that it has reported so far."""
        return [frame["text"] for frame in self._host._said("tool_progress") if frame["id"] == self.id]

    def wait_progress(self, count: int = 1) -> list[str]:
        """Waits for at least `count` lines of progress, and returns them."""
        self._host.wait_for(lambda: len(self.progress) >= count, f"{count} lines of progress")
        return self.progress
