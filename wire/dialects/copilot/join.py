"""How an extension joins its session: the parameters of `session.resume`, and the registrations in them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire import frames
from wire.dialects.base import LIMIT, Instructions, Remarked, Warned, cut_instructions
from wire.dialects.copilot.hooks import HOOK_EVENTS, handler_of
from wire.dialects.json_values import as_json, kind_of, objects, string
from wire.dialects.long_lines import SHORT
from wire.lenient_json import UNREADABLE, reason, repair
from wire.suggestions import did_you_mean, join_names
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire.dialects.base import Message

EVENTS = (
    "user_prompt", "assistant_message", "turn_start", "turn_end", "usage", "tool_call", "tool_result", "idle",
    "error", "session_end",
)  # fmt: skip
"""Events that every extension observes."""
ASK_USER = "ask_user"
"""The tool of an extension that answers for the user."""
ASK_USER_DESCRIPTION = "Ask the user a question and wait for the answer."
ASK_USER_SCHEMA = Raw(
    b'{"type":"object","properties":{"question":{"type":"string","description":"The question."},"choices":{"type":'
    b'"array","items":{"type":"string"},"description":"Answers to choose from."},"allow_freeform":{"type":"boolean",'
    b'"description":"Whether another answer than the choices may be given; default true."}},"required":["question"]}'
)
WITHOUT_EFFECT = (
    "additionalDirectories", "agent", "availableTools", "canvases", "configDir", "customAgents", "defaultAgent",
    "disabledMcpServers", "disabledSkills", "excludedTools", "factories", "infiniteSessions", "instructionDirectories",
    "largeOutput", "mcpServers", "memory", "model", "models", "pluginDirectories", "provider", "providers",
    "reasoningEffort", "requestAutoModeSwitch", "requestElicitation", "requestExitPlanMode", "sessionLimits",
    "skillDirectories", "streaming", "toolSearch", "workingDirectory",
)  # fmt: skip
"""Members of `session.resume` for options of `joinSession` that have no effect here."""
OPTIONS = {
    "configDir": "configDirectory", "requestAutoModeSwitch": "onAutoModeSwitchRequest",
    "requestElicitation": "onElicitationRequest", "requestExitPlanMode": "onExitPlanModeRequest",
}  # fmt: skip
"""Names of these options for an extension, if they differ from the members."""
OF_NEWER_SDKS = frozenset({"agentStop", "preMcpToolCall", "userPromptTransformed"})
"""Additional hooks of newer SDKs, which are never asked here."""
NAME_SHOWN = 80
LISTED = 1_000
"""Maximum number of tools, commands or variables that are read. The registry takes fewer."""
REMARKS_LIMIT = 20
"""Maximum number of messages about their faults."""
PARTS_LIMIT = 200_000
"""Maximum number of commas and brackets in long parameters."""


class JoinError(Exception):
    """The extension cannot join with these parameters; the text says why."""


class CopilotTool(msgspec.Struct, frozen=True):
    """A tool of the extension."""

    name: str
    description: str | None = None
    schema: Raw | UnsetType = UNSET
    """JSON Schema of its arguments."""
    skip_permission: bool = False
    """Whether its calls are not shown to permission handlers."""
    overrides_builtin: bool = False
    """Whether it is meant to replace a built-in tool of that name."""
    is_terminal: bool = False


class Join(msgspec.Struct, frozen=True):
    """The facts about an extension in the parameters of its join."""

    session_id: str
    tools: dict[str, CopilotTool] = {}
    commands: tuple[frames.RegisterCommand, ...] = ()
    hooks: frozenset[str] | None = frozenset()
    """The types of its hooks, such as `preToolUse`. None if it has hooks and does not name them."""
    asks_permission: bool = False
    """Whether it has its own permission handler."""
    answers_user: bool = False
    """Whether it has a handler for questions to the user."""
    variables: tuple[str, ...] = ()
    """The environment variables that it asks for."""
    says_when_started: bool = False
    """Whether it will report that its module has run. Otherwise it is ready when it joins."""
    instructions: str = ""
    """The text that it appends to the system prompt."""
    remarks: tuple[Message, ...] = ()
    """Warnings for the user and lines for the log about it."""

    @property
    def has_ask_user(self) -> bool:
        """Whether the tool `ask_user` stands for its handler."""
        return self.answers_user and ASK_USER not in self.tools

    @property
    def claimed(self) -> tuple[str, ...]:
        """The names of tools that no other extension may have."""
        return tuple(tool.name for tool in self.tools.values() if not tool.overrides_builtin)

    @property
    def intercept(self) -> list[str]:
        """The events that it guards, in a fixed order."""
        hooks = HOOK_EVENTS.keys() if self.hooks is None else self.hooks
        events = [event for hook, event in HOOK_EVENTS.items() if hook in hooks]
        if self.asks_permission:
            events.append("tool_call")
        return list(dict.fromkeys(events))

    def tool_frames(self) -> list[frames.RegisterTool]:
        """Returns the registrations of its tools."""
        found = [frames.RegisterTool(tool.name, tool.description, tool.schema) for tool in self.tools.values()]
        if self.has_ask_user:
            found.append(frames.RegisterTool(ASK_USER, ASK_USER_DESCRIPTION, ASK_USER_SCHEMA))
        return found

    def registrations(self) -> list[Message]:
        """Returns all messages after its hello."""
        return [
            *self.remarks,
            *self.tool_frames(),
            *self.commands,
            frames.Subscribe(list(EVENTS), self.intercept),
            *([Instructions(self.instructions)] if self.instructions else []),
            *([] if self.says_when_started else [frames.Ready()]),
        ]


class _Params(msgspec.Struct):
    """The members of the parameters that are used."""

    sessionId: Any = None  # noqa: N815
    tools: Any = None
    commands: Any = None
    hooks: Any = None
    requestPermission: Any = None  # noqa: N815
    requestUserInput: Any = None  # noqa: N815
    requestedEnvironmentVariables: Any = None  # noqa: N815
    extensionInfo: Any = None  # noqa: N815
    systemMessage: Any = None  # noqa: N815


_params = msgspec.json.Decoder(_Params).decode
_members = msgspec.json.Decoder(dict[str, Raw]).decode
_NOTHING = frozenset({b"null", b"false", b"[]", b"{}", b'""'})


def read_join(written: Raw | UnsetType) -> Join:
    """Reads the parameters of `session.resume`. Raises `JoinError`."""
    text = b"{}" if written is UNSET else bytes(written)
    if len(text) > SHORT and sum(map(text.count, (b",", b"[", b"{"))) > PARTS_LIMIT:
        raise JoinError(f"the parameters of session.resume have more than {PARTS_LIMIT} parts")
    try:
        params, members = _read(text)
    except UNREADABLE as error:
        raise JoinError(f"the parameters of session.resume cannot be read: {reason(error)}") from None
    if not isinstance(params.sessionId, str) or not params.sessionId:
        raise JoinError(f"sessionId is {kind_of(params.sessionId)}, not the id of a session")
    remarks: list[Message] = []
    own = _object(_object(params.extensionInfo).get("zot"))
    variables = _strings(params.requestedEnvironmentVariables)
    missing = _strings(own.get("missing"))
    if variables:  # the oldest SDK leaves them out
        missing = tuple(name for name in missing if name in variables)
    tools = _tools(params.tools, remarks)
    commands = _commands(params.commands, remarks)
    if missing:
        remarks.append(_warn_of_variables(missing))
    hooks = _hooks(params.hooks, own.get("hooks"))
    if unasked := sorted((hooks or frozenset()) - HOOK_EVENTS.keys()):
        remarks.append(_warn_of_hooks(unasked))
    idle = [name for name in WITHOUT_EFFECT if bytes(members.get(name, b"null")).strip() not in _NOTHING]
    if idle:
        named = ", ".join(OPTIONS.get(name, name) for name in idle)
        remarks.append(Remarked(f"joinSession() has options that have no effect here: {named}"))
    instructions = _instructions(params.systemMessage, remarks)
    return Join(
        params.sessionId,
        tools,
        commands,
        hooks,
        params.requestPermission is True,
        params.requestUserInput is True,
        variables,
        own.get("starts") is True,
        instructions,
        tuple(remarks[:REMARKS_LIMIT]),
    )


def _read(text: bytes) -> tuple[_Params, dict[str, Raw]]:
    """Decodes the parameters. Raises one of `UNREADABLE`. JavaScript may send halves of surrogate pairs."""
    try:
        return _params(text), _members(text)
    except UNREADABLE:
        if (mended := repair(text)) is None:
            raise
    return _params(mended), _members(mended)


def _instructions(message: Any, remarks: list[Message]) -> str:
    """Returns the text to append to the system prompt. The other modes would remove the user's instructions."""
    if message is None:
        return ""
    mode = _object(message).get("mode")
    content = _object(message).get("content")
    if not isinstance(message, dict):
        fault = f"its systemMessage is {kind_of(message)}, not an object; it has no effect"
    elif mode not in (None, "append"):
        shown = f'"{one_line(mode, NAME_SHOWN)}"' if isinstance(mode, str) else kind_of(mode)
        fault = f'its systemMessage has the mode {shown}, which has no effect here; "append" has'
    elif content is not None and not isinstance(content, str):
        fault = f"the content of its systemMessage is {kind_of(content)}, not a string; it has no effect"
    else:
        text = content or ""
        if (size := len(text.strip().encode("utf-8", "replace"))) > LIMIT:
            remarks.append(Remarked(f"its systemMessage has {size} bytes; the model gets the first {LIMIT}"))
        return cut_instructions(text)
    remarks.append(Remarked(fault))
    return ""


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _strings(value: Any) -> tuple[str, ...]:
    """Returns the texts in a list, each once."""
    found = value[:LISTED] if isinstance(value, list) else []
    return tuple(dict.fromkeys(each for each in found if isinstance(each, str) and each))


def _hooks(has_hooks: Any, named: Any) -> frozenset[str] | None:
    if isinstance(named, list):
        return frozenset(_strings(named))
    return None if has_hooks is True else frozenset()


def _warn_of_hooks(hooks: Sequence[str]) -> Warned:
    known = [handler_of(hook) for hook in HOOK_EVENTS]
    shown = [one_line(handler_of(hook), NAME_SHOWN) for hook in hooks]
    misspelt = next((name for name, hook in zip(shown, hooks, strict=True) if hook not in OF_NEWER_SDKS), "")
    hint = did_you_mean(misspelt, known) or f"there are {', '.join(known)}"
    return Warned("hooks", f"it has hooks that are never asked here: {join_names(shown)}; {hint}")


def _warn_of_variables(names: Sequence[str]) -> Warned:
    shown = [one_line(name, NAME_SHOWN) for name in names]
    return Warned(
        "environment",
        f"it asks for environment variables that are missing: {join_names(shown)}; "
        'set them, and name those that are withheld under "env" in its extension.json',
    )


def _tools(listed: Any, remarks: list[Message]) -> dict[str, CopilotTool]:
    if listed is not None and not isinstance(listed, list):
        remarks.append(Warned("tools", f"its tools are {kind_of(listed)}, not a list; none is registered"))
    found: dict[str, CopilotTool] = {}
    for each in objects(listed)[:LISTED]:
        name = each.get("name")
        if not isinstance(name, str) or not name:
            remarks.append(Warned("tool without a name", "a tool is skipped: it has no name"))
            continue
        shown = one_line(name, NAME_SHOWN)
        if name in found:
            remarks.append(Warned(f"tool {shown}", f"it has two tools called {shown!r}; the last one is used"))
        tool = _tool(name, each)
        if tool is None:
            remarks.append(Warned(f"tool {shown}", f"tool {shown!r} is skipped: its parameters are no JSON Schema"))
            continue
        if tool.is_terminal:
            remarks.append(Remarked(f"tool {shown!r} has isTerminal, which has no effect here"))
        found[name] = tool
    return found


def _tool(name: str, said: dict[str, Any]) -> CopilotTool | None:
    schema = said.get("parameters")
    if schema is not None and not isinstance(schema, dict):
        return None
    written = as_json(schema) if schema else None
    if schema and written is None:
        return None
    return CopilotTool(
        name,
        string(said.get("description")) or None,
        UNSET if written is None else Raw(written),
        said.get("skipPermission") is True,
        said.get("overridesBuiltInTool") is True,
        said.get("isTerminal") is True,
    )


def _commands(listed: Any, remarks: list[Message]) -> tuple[frames.RegisterCommand, ...]:
    found: dict[str, frames.RegisterCommand] = {}
    for each in objects(listed)[:LISTED]:
        name = each.get("name")
        if isinstance(name, str) and name:
            found[name] = frames.RegisterCommand(name, string(each.get("description")) or None)
        else:
            remarks.append(Warned("command without a name", "a command is skipped: it has no name"))
    return tuple(found.values())
