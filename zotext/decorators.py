# ruff: noqa: F811 - `overload` is not the one of `typing` at run time, which would have to be imported
"""The decorators that make an extension's functions tools, commands, guards and handlers."""

from __future__ import annotations

import sys
from _thread import RLock

from .errors import RegistrationError
from .events import EVENTS
from .registry import Registry, subscription
from .signature import check_arity, with_subject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping
    from typing import Any, Literal, TypeVar, overload

    from .events import (
        AgentStart,
        AssistantMessage,
        Event,
        Lease,
        PanelClosed,
        PanelKey,
        PanelSize,
        ToolCall,
        ToolResult,
        TurnStart,
        UserPrompt,
    )
    from .responses import Response
    from .verdicts import Allow, Block, ReplaceResult, ReplaceText, RewriteArgs

    Answer = str | Response | None
    OnToolCall = Allow | Block | RewriteArgs | None
    OnTurnStart = Allow | Block | None
    OnText = Allow | Block | ReplaceText | None
    OnToolResult = Allow | Block | ReplaceResult | None
    ToolT = TypeVar("ToolT", bound=Callable[..., object])
    CommandT = TypeVar("CommandT", bound=Callable[..., Answer | Awaitable[Answer]])
    EventT = TypeVar("EventT", bound=Callable[[Event], object] | Callable[[], object])
    AgentStartT = TypeVar("AgentStartT", bound=Callable[[AgentStart], str | Awaitable[str | None] | None])
    ToolCallT = TypeVar("ToolCallT", bound=Callable[[ToolCall], OnToolCall | Awaitable[OnToolCall]])
    TurnStartT = TypeVar("TurnStartT", bound=Callable[[TurnStart], OnTurnStart | Awaitable[OnTurnStart]])
    MessageT = TypeVar("MessageT", bound=Callable[[AssistantMessage], OnText | Awaitable[OnText]])
    UserPromptT = TypeVar("UserPromptT", bound=Callable[[UserPrompt], OnText | Awaitable[OnText]])
    ToolResultT = TypeVar("ToolResultT", bound=Callable[[ToolResult], OnToolResult | Awaitable[OnToolResult]])
    KeyT = TypeVar("KeyT", bound=Callable[[PanelKey], object] | Callable[[], object])
    SizeT = TypeVar("SizeT", bound=Callable[[PanelSize], object] | Callable[[], object])
    ClosedT = TypeVar("ClosedT", bound=Callable[[PanelClosed], object] | Callable[[], object])
    LastT = TypeVar("LastT", bound=Callable[[], object])
    LeaseT = TypeVar("LeaseT", bound=Callable[[Lease], object] | Callable[[], object])
    StateT = TypeVar("StateT")
    EventName = Literal[
        "session_start", "user_prompt", "turn_start", "tool_call", "tool_result", "assistant_message", "turn_end",
        "error", "idle", "session_end", "user_prompt_submit", "tool_confirmation_requested", "permission_decision",
        "pre_compact", "post_compact", "subagent_start", "subagent_stop",
    ]  # fmt: skip
else:

    def overload(function: object) -> object:
        return function


class Decorators:
    """Base of `Extension`. The greeting has all earlier registrations; `_declare` sends later ones."""

    def __init__(self, name: str, version: str, capabilities: tuple[str, ...] = ()) -> None:
        self.registry = Registry(name, version, capabilities)
        """All registrations. For the SDK and its tests."""
        self._lock = RLock()

    def _declare(self, frame: dict[str, Any]) -> None:
        raise NotImplementedError

    @overload
    def tool(self, handler: ToolT, /) -> ToolT: ...
    @overload
    def tool(
        self,
        handler: None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        schema: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
        idempotent: bool = False,
        read_only: bool = False,
        deferred: bool = False,
        exposure: Literal["direct", "deferred", "codemode", "model-only"] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        interactive: bool = False,
    ) -> Callable[[ToolT], ToolT]: ...
    def tool(
        self,
        handler: Any = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        schema: Mapping[str, Any] | None = None,
        timeout_s: float | None = None,
        idempotent: bool = False,
        read_only: bool = False,
        deferred: bool = False,
        exposure: Literal["direct", "deferred", "codemode", "model-only"] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        interactive: bool = False,
    ) -> Any:
        """Registers a function that the model can call. `@ext.tool` or `@ext.tool(...)`.

        Name, description and JSON Schema come from the function's name, docstring and type hints. With `schema`, the
        function gets one dict with all arguments, unchecked. `timeout_s`: seconds that the host waits for it (default:
        the manifest's, or 60). `idempotent`: the host may repeat a call that a crash interrupted. `read_only`: the tool
        changes nothing, so several calls may run at once. `deferred`: the model is offered it only once a
        `Result(activate=[name])` of this extension has named it; `exposure` says so in zot's words, and counts before.
        `output_schema`: JSON Schema of the result, for programs; any value that is returned is then such a result,
        too. `interactive`: a call waits for a person, without a time limit. Raises `RegistrationError`, which names the
        wrong parameter.
        """
        from .tools import Tool

        names = sys._getframe(1).f_locals

        def register(function: Any) -> Any:
            tool = Tool(
                function, name=name, description=description, schema=schema, timeout_s=timeout_s,
                idempotent=idempotent, read_only=read_only, deferred=deferred, exposure=exposure,
                output_schema=output_schema, interactive=interactive, local_names=names,
            )  # fmt: skip
            with self._lock:
                if tool.name in self.registry.tools:
                    raise RegistrationError(f"tool {tool.name!r} is already there; unregister_tool() it first")
                self.registry.tools[tool.name] = tool
                self._declare(tool.registration())
            return function

        return register if handler is None else register(handler)

    def unregister_tool(self, name: str) -> None:
        """Removes a tool. Running calls are finished. Raises `KeyError` if there is no tool of this name."""
        with self._lock:
            del self.registry.tools[name]
            self._declare({"type": "unregister_tool", "name": name})

    @overload
    def command(self, handler: CommandT, /) -> CommandT: ...
    @overload
    def command(
        self, handler: None = None, /, *, name: str | None = None, description: str | None = None
    ) -> Callable[[CommandT], CommandT]: ...
    def command(self, handler: Any = None, /, *, name: str | None = None, description: str | None = None) -> Any:
        """Registers a slash command. The function takes the text typed after the command's name, or nothing. It returns
        a str (shown to the user), None, or a response such as `Prompt(...)`."""
        from .tools import Command

        names = sys._getframe(1).f_locals

        def register(function: Any) -> Any:
            command = Command(function, name=name, description=description, local_names=names)
            with self._lock:
                if command.name in self.registry.commands:
                    raise RegistrationError(f"command {command.name!r} is already there")
                self.registry.commands[command.name] = command
                self._declare(command.registration())
            return function

        return register if handler is None else register(handler)

    def on(self, event: EventName) -> Callable[[EventT], EventT]:
        """Calls the function after an event, with the `Event` or without arguments. All event handlers of an extension
        run on one thread, in the order of the events."""
        if event not in EVENTS:
            raise RegistrationError(f"there is no event {event!r}; there are {', '.join(EVENTS)}")

        def register(handler: EventT) -> EventT:
            with self._lock:
                self.registry.handlers.setdefault(event, []).append(with_subject(handler, f"handler of {event!r}"))
                self._declare(subscription([event], []))
            return handler

        return register

    @overload
    def intercept_tool_call(self, handler: ToolCallT, /) -> ToolCallT: ...
    @overload
    def intercept_tool_call(
        self, handler: None = None, /, *, tools: Collection[str]
    ) -> Callable[[ToolCallT], ToolCallT]: ...
    def intercept_tool_call(self, handler: Any = None, /, *, tools: Collection[str] | None = None) -> Any:
        """Asks the function before a tool runs; `tools` limits it to tools with these names. It returns None or
        `allow()`, `block(reason)`, `ask(reason)`, `rewrite_args(args)` or `add_context(text)`. If it raises, the call
        is blocked."""
        return self._guard("tool_call", handler, tools)

    def intercept_turn_start(self, handler: TurnStartT, /) -> TurnStartT:
        """Asks the function before the model is called: None or `allow()`, `block(reason)` or `ask(reason)`."""
        return self._guard("turn_start", handler)  # type: ignore[no-any-return]

    def intercept_assistant_message(self, handler: MessageT, /) -> MessageT:
        """Asks the function before a message of the model is shown: None or `allow()`, `block(reason)`, `ask(reason)`
        or `replace_text(text)`."""
        return self._guard("assistant_message", handler)  # type: ignore[no-any-return]

    def intercept_user_prompt(self, handler: UserPromptT, /) -> UserPromptT:
        """Asks the function before a prompt is sent to the model: None or `allow()`, `block(reason)`, `ask(reason)`,
        `replace_text(text)` or `add_context(text)`. Only hosts with the feature `user_prompt_intercept` ask."""
        return self._guard("user_prompt", handler)  # type: ignore[no-any-return]

    @overload
    def intercept_tool_result(self, handler: ToolResultT, /) -> ToolResultT: ...
    @overload
    def intercept_tool_result(
        self, handler: None = None, /, *, tools: Collection[str]
    ) -> Callable[[ToolResultT], ToolResultT]: ...
    def intercept_tool_result(self, handler: Any = None, /, *, tools: Collection[str] | None = None) -> Any:
        """Asks the function before the model sees a tool's result: None or `allow()`, `block(reason)`, `ask(reason)`,
        `replace_result(content)` or `add_context(text)`. Only hosts with the feature `tool_result_intercept` ask."""
        return self._guard("tool_result", handler, tools)

    def intercept_before_agent_start(self, handler: AgentStartT, /) -> AgentStartT:
        """Asks the function before the first request to the model, and again when the model or the session changes: it
        returns the whole new system prompt ("" removes it), or None. If it raises, the prompt stays as it is."""
        return self._guard("before_agent_start", handler)  # type: ignore[no-any-return]

    def on_panel_key(self, panel_id: str) -> Callable[[KeyT], KeyT]:
        """Calls the function with the `PanelKey` of each key press in this panel."""
        return self._on_panel("panel_key", panel_id)  # type: ignore[no-any-return]

    def on_panel_resize(self, panel_id: str) -> Callable[[SizeT], SizeT]:
        """Calls the function with the new `PanelSize` when it changes."""
        return self._on_panel("panel_resize", panel_id)  # type: ignore[no-any-return]

    def on_panel_close(self, panel_id: str) -> Callable[[ClosedT], ClosedT]:
        """Calls the function when the user closes this panel."""
        return self._on_panel("panel_close", panel_id)  # type: ignore[no-any-return]

    def on_shutdown(self, handler: LastT, /) -> LastT:
        """Calls the function once, after the last other handler. All these functions together have half a second."""
        check_arity(handler, "handler of on_shutdown", 0)
        self.registry.shutdown_handlers.append(handler)
        return handler

    # --- sessions: for an extension that several runs use ---------------------------------------------------

    def session_state(self, factory: Callable[[], StateT]) -> Callable[[], StateT]:
        """Keeps a state for each session, made by `factory` when a handler first asks for it, and dropped at the end of
        the session: `notes = ext.session_state(list)`, and in a handler `notes().append(text)`. The returned function
        raises `RuntimeError` outside of handlers."""
        state = self.registry.sessions.state(factory)
        with self._lock:
            for event in ("session_start", "session_end"):
                self.registry.handlers.setdefault(event, [])
            self._declare(subscription(["session_start", "session_end"], []))
        return state

    def on_lease_begin(self, handler: LeaseT, /) -> LeaseT:
        """Calls the function with the `Lease`, or without arguments, when the next run gets this process for itself,
        which begins when the function has returned. A run waits 2 seconds for that. If it raises, the host ends the
        process."""
        return self._on_lease("begin", handler)  # type: ignore[no-any-return]

    def on_lease_end(self, handler: LeaseT, /) -> LeaseT:
        """Calls the function with the `Lease`, or without arguments, when all handlers of a run that had this process
        for itself have ended: it forgets all about the run."""
        return self._on_lease("end", handler)  # type: ignore[no-any-return]

    def _on_lease(self, moment: str, handler: Any) -> Any:
        if self.registry.has_greeted:
            raise RegistrationError(f"on_lease_{moment} comes before run(): the hello says whether there are leases")
        self.registry.lease_handlers[moment].append(with_subject(handler, f"handler of on_lease_{moment}"))
        return handler

    def _guard(self, point: str, handler: Any, tools: Collection[str] | None = None) -> Any:
        from .guards import Guard

        if isinstance(tools, str):
            raise RegistrationError(f"tools is a list of names, not {tools!r}")

        def register(function: Any) -> Any:
            check_arity(function, f"guard of {point!r}", 1)
            with self._lock:
                self.registry.guards.setdefault(point, []).append(Guard(function, tools))
                self._declare(subscription([], [point]))
            return function

        return register if handler is None else register(handler)

    def _on_panel(self, kind: str, panel_id: str) -> Any:
        def register(handler: Any) -> Any:
            called = with_subject(handler, f"handler of {kind} of {panel_id!r}")
            self.registry.panel_handlers.setdefault((kind, panel_id), []).append(called)
            return handler

        return register
