"""Answers the requests of the client: most at once, also while a prompt runs.

A request is a class of `wire.rpc.requests`, which names its response's data, and a row of the table here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agent.engine.host_calls.known_models import known_models
from agent.rpc import messages
from agent.rpc.prompt_requests import PromptRequests
from agent.rpc.refusal import RequestRefusedError
from agent.rpc.session_requests import SessionRequests
from agent.sessions.export.client_messages import client_messages
from supervisor import queries
from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from wire import events
from wire.rpc import requests, responses
from wire.rpc.responses import Reloaded, ReloadError
from wire.suggestions import UnknownNameError, no_such
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from agent.engine.engine import Engine
    from agent.rpc.permission_requests import PermissionRequests
    from agent.rpc.program_extensions import ProgramExtensions
    from agent.rpc.prompt_queue import PromptQueue
    from agent.rpc.refusal import Code
    from supervisor.calls.command_call import CommandAnswer
    from supervisor.calls.merged_registrations import OwnedCommand
    from supervisor.loop.loop import Loop
    from wire.control import ReloadOutcome

    Done = Callable[[Reloaded | str], None]

COMMANDS_LIMIT = 1000
"""Maximum of slash commands, calls of tools and reloads that run at the same time."""
LATER = object()
"""Returned by a handler whose response comes later, or never."""


class RequestHandler:
    """Carries out requests. `respond` gets the responses in the order of the requests; only slash commands, calls of
    tools and reloads are answered when they have ended. `show` gets the records of commands."""

    def __init__(
        self,
        loop: Loop,
        engine: Engine,
        queue: PromptQueue,
        program: ProgramExtensions,
        permissions: PermissionRequests,
        *,
        version: str,
        home: Path,
        cwd: str,
        respond: Callable[[responses.Response[Any]], None],
        show: Callable[[events.Record], None],
    ) -> None:
        self.commands_running = 0
        """The number of slash commands, calls of tools and reloads without an answer."""
        self.commands_begun = 0
        """The number of slash commands and calls of tools so far."""
        self.is_starting = True
        self._loop = loop
        self._engine = engine
        self._queue = queue
        self._program = program
        self._permissions = permissions
        self._version = version
        self._cwd = valid_text(cwd)
        self._respond = respond
        self._show = show
        self.reloads = Reloads(engine)
        self._schemas: dict[str, dict[str, Any]] = {}
        """The requested schemas by name: the larger ones take 20 ms to make."""
        prompts = PromptRequests(engine, queue)
        sessions = SessionRequests(engine, home=home, cwd=cwd, version=version, refuse_if_busy=self._refuse_if_busy)
        panels = engine.supervisor.panels
        self._queries: dict[type[requests.Request], Callable[[Any], Any]] = {
            requests.Hello: self._hello,
            requests.Prompt: prompts.prompt,
            requests.Steer: prompts.steer,
            requests.Compact: prompts.compact,
            requests.Abort: prompts.abort,
            requests.Allow: permissions.allow,
            requests.Deny: permissions.deny,
            requests.GetState: self._get_state,
            requests.GetMessages: self._get_messages,
            requests.Clear: self._clear,
            requests.SetModel: self._set_model,
            requests.SetReasoning: self._set_reasoning,
            requests.GetModels: lambda _request: responses.Models(known_models()),
            requests.Ping: lambda _request: responses.Pong(pong=True),
            requests.Queue: prompts.queue,
            requests.RunCommand: self._run_command,
            requests.CallTool: self._call_tool,
            requests.ListCommands: lambda _request: responses.Commands(queries.commands(engine.supervisor)),
            requests.ListTools: lambda _request: responses.Tools(engine.tools()),
            requests.ListSkills: self._list_skills,
            requests.ExtStats: lambda _request: responses.ExtensionsStats(queries.extension_stats(engine.supervisor)),
            requests.ReloadExt: self._reload_ext,
            requests.SetMessages: self._set_messages,
            requests.ListSessions: sessions.list,
            requests.Resume: sessions.resume,
            requests.Fork: sessions.fork,
            requests.Export: sessions.export,
            requests.Import: sessions.import_,
            requests.Tree: sessions.tree,
            requests.GetSchema: self._get_schema,
            requests.PanelKey: lambda key: panels.press(key.extension, key.panel_id, key.key, key.text),
            requests.PanelResize: lambda size: panels.resize(size.extension, size.panel_id, size.width, size.height),
            requests.PanelClose: lambda close: panels.close(close.extension, close.panel_id),
            requests.Ext: self._ext,
        }
        """The handler of each request: it returns the data of the response, or `LATER`."""

    def answer(self, request: requests.Request) -> None:
        """Answers a request, or begins a slash command, a call of a tool or a reload, whose answer comes later. An
        `ext` line has no answer, unless it is refused."""
        try:
            data = self._queries[type(request)](request)
        except RequestRefusedError as refusal:
            self._respond(failure(request, str(refusal), refusal.code))
        except UnknownNameError as error:
            self._respond(failure(request, str(error)))
        else:
            if data is not LATER:
                self._respond(success(request, data))

    def _ext(self, request: requests.Ext) -> object:
        self._program.take(request)
        return LATER

    # --- the conversation ---------------------------------------------------------------------------------

    def _hello(self, request: requests.Hello) -> responses.Greeting:
        engine = self._engine
        if request.permissions:
            self._permissions.expect_person()
        return responses.Greeting(
            responses.PROTOCOL_VERSION, self._version, engine.provider_name, engine.model, engine.reasoning
        )

    def _get_state(self, _request: requests.GetState) -> responses.State:
        conversation = self._engine.conversation
        path = conversation.path
        return responses.State(
            provider=self._engine.provider_name,
            model=self._engine.model,
            cwd=self._cwd,
            message_count=len(conversation.transcript),
            busy=self._queue.is_busy,
            usage=conversation.usage,
            starting=self.is_starting,
            session=None if path is None else responses.SessionFile(self._engine.session.id, valid_text(str(path))),
            reasoning=self._engine.reasoning,
        )

    def _get_messages(self, request: requests.GetMessages) -> responses.Messages:
        return responses.Messages(client_messages(self._engine.conversation.transcript, full=request.full))

    def _clear(self, _request: requests.Clear) -> None:
        self._refuse_if_busy()
        self._engine.session.begin()

    def _set_messages(self, request: requests.SetMessages) -> responses.Count:
        self._refuse_if_busy()
        try:
            found = messages.to_transcript(request.messages)
        except messages.UnfitMessageError as error:
            raise RequestRefusedError(str(error)) from None
        self._engine.session.begin(found)
        return responses.Count(len(found))

    def _refuse_if_busy(self) -> None:
        if (first := next(iter(self._queue), None)) is not None:
            whose = "" if first.sent is None else f" of extension {first.sent.extension}"
            raise RequestRefusedError(f"busy: a {first.kind}{whose} runs or waits; abort it, or wait for its end")

    def _set_model(self, request: requests.SetModel) -> responses.Model:
        if not request.model.strip():
            raise RequestRefusedError("model: it is empty")
        try:
            self._engine.set_model(request.model)
        except ValueError as error:
            raise RequestRefusedError(str(error)) from None
        return responses.Model(request.model)

    def _set_reasoning(self, request: requests.SetReasoning) -> responses.ReasoningLevel:
        self._engine.set_reasoning(request.reasoning)
        return responses.ReasoningLevel(request.reasoning, self._engine.used_reasoning or request.reasoning)

    # --- the extensions -----------------------------------------------------------------------------------

    def _list_skills(self, _request: requests.ListSkills) -> responses.Skills:
        return responses.Skills(
            tuple(
                responses.SkillInfo(skill.name, skill.description, skill.source, skill.allowed_names)
                for skill in self._engine.toolbox.skills
            )
        )

    def _run_command(self, request: requests.RunCommand) -> object:
        name = request.name.removeprefix("/")
        registrations = self._engine.supervisor.registrations
        if (owned := registrations.find_command(name)) is None:
            known = [f"/{each}" for each in registrations.commands()]
            raise RequestRefusedError(no_such("command", f"/{name}", known) + self._may_come)
        self._refuse_if_too_many()
        self.commands_running += 1
        self.commands_begun += 1

        def ended(answer: CommandAnswer) -> None:
            self.commands_running -= 1
            try:
                outcome = _outcome(owned, answer)
            except RequestRefusedError as refusal:
                self._respond(failure(request, f"/{name}: {refusal}"))
                return
            self._respond(success(request, outcome))
            if outcome.action == "display":
                self._show(events.ExtDisplay(outcome.extension, outcome.text))
            elif outcome.action == "insert":
                self._show(events.ExtInsert(outcome.extension, outcome.text))

        self._engine.supervisor.begin_command(owned, request.args or "", ended)
        return LATER

    def _call_tool(self, request: requests.CallTool) -> object:
        calls, name, args = self._engine.client_calls, request.name, bytes(request.args)
        if why := calls.refusal(name, args):
            raise RequestRefusedError(why if self._engine.toolbox.knows(name) else why + self._may_come)
        self._refuse_if_too_many()
        self.commands_running += 1
        self.commands_begun += 1

        def ended(result: events.ToolResult) -> None:
            self.commands_running -= 1
            self._respond(success(request, responses.ToolOutcome(result.is_error, result.content)))

        calls.begin(name, args, ended)
        return LATER

    @property
    def _may_come(self) -> str:
        """The end of a refusal for an unknown name."""
        return "; extensions are still starting" if self.is_starting else ""

    def _refuse_if_too_many(self) -> None:
        if self.commands_running >= COMMANDS_LIMIT:
            busy = f"{COMMANDS_LIMIT} commands, calls and reloads run already"
            raise RequestRefusedError(f"{busy}; wait for answers first")

    def _reload_ext(self, request: requests.ReloadExt) -> object:
        self._refuse_if_too_many()
        self.commands_running += 1

        def ended(done: responses.Reloaded | str) -> None:
            self.commands_running -= 1
            self._respond(failure(request, done) if isinstance(done, str) else success(request, done))

        self.reloads.begin(request.name, ended)
        return LATER

    # --- schemas ------------------------------------------------------------------------------------------

    def _get_schema(self, request: requests.GetSchema) -> responses.Schemas:
        from wire import schema  # no other request needs it

        names = schema.definitions()
        if request.name is None:
            return responses.Schemas(tuple(names), None)
        if request.name not in names:
            raise UnknownNameError("schema", request.name, names)
        if (found := self._schemas.get(request.name)) is None:
            found = self._schemas[request.name] = schema.generate(request.name)
        return responses.Schemas((), found)


def success(request: requests.Request, data: Any) -> responses.Response[Any]:
    """The response to a request that was carried out."""
    return responses.Response(
        id=request.id, command=_name(request), success=True, data=msgspec.UNSET if data is None else data
    )


def failure(request: requests.Request, error: str, code: Code | None = None) -> responses.Response[Any]:
    """The response to a request that was refused."""
    return responses.Response(
        id=request.id, command=_name(request), success=False, error=error, code=code or msgspec.UNSET
    )


def _name(request: requests.Request) -> str:
    return str(request.__struct_config__.tag)


def _outcome(owned: OwnedCommand, answer: CommandAnswer) -> responses.CommandOutcome:
    """Raises `RequestRefusedError` if the command failed."""
    extension = valid_text(owned.owner.name)
    if answer.frame is None:
        within = " (timeouts.command in its manifest)" if answer.failure is Failure.TIMEOUT else ""
        raise RequestRefusedError(f"extension {extension} failed: {answer.reason}{within}")
    said = answer.frame
    if said.error:
        raise RequestRefusedError(said.error)
    match said.action or "noop":
        case "noop":
            return responses.CommandOutcome(extension, "noop", "")
        case "prompt":
            return responses.CommandOutcome(extension, "prompt", said.prompt or "")
        case "insert":
            return responses.CommandOutcome(extension, "insert", said.insert or "")
        case "display":
            return responses.CommandOutcome(extension, "display", said.display or "")
        case "open_panel":
            return responses.CommandOutcome(extension, "open_panel", "")
        case unknown:
            raise RequestRefusedError(f"extension {extension} failed: there is no action {unknown[:80]!r}")


class Reloads:
    """Begins reloads. Each is answered once: when it is over, or when it is given up."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._open: dict[int, Done] = {}
        self._count = 0

    def begin(self, name: str | None, done: Done) -> None:
        """Reloads one extension, with None all. In a later pass `done` gets the outcome, or the text of an error."""
        self._count += 1
        number = self._count
        self._open[number] = done

        def ended(outcomes: tuple[ReloadOutcome, ...]) -> None:
            if self._open.pop(number, None) is None:
                return  # the reload was given up
            extensions = self._engine.supervisor.extensions
            if name is not None and not outcomes:
                done(no_such("extension", name, [extension.name for extension in extensions]))
            else:
                serving = (WorkerState.READY, WorkerState.ASLEEP)
                done(reload_answer(outcomes, {each.name for each in extensions if each.state in serving}))

        self._engine.reloader.begin(name, ended)

    def give_up(self, reason: str) -> None:
        """Answers all open reloads with this error."""
        given_up, self._open = self._open, {}
        for done in given_up.values():
            done(reason)


def reload_answer(outcomes: Sequence[ReloadOutcome], ready: Collection[str]) -> Reloaded:
    """The outcomes in zot's four words. `ready` are the extensions that serve now. Pure."""

    def named(*kinds: str) -> tuple[str, ...]:
        return tuple(valid_text(each.name) for each in outcomes if each.outcome in kinds)

    return Reloaded(
        stopped=named("reloaded", "stopped"),
        loaded=named("reloaded", "started"),
        ready=tuple(valid_text(each.name) for each in outcomes if each.name in ready),
        errors=tuple(
            ReloadError(valid_text(each.name), valid_text(each.reason))
            for each in outcomes
            if each.outcome in ("kept", "skipped")
        ),
    )
