"""All tools of a run, built-in ones and those of extensions: offers them to the model and carries out calls."""

from __future__ import annotations

import signal
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from agent.images.scaler import fit_message, fit_result
from agent.model.request import ToolSpec
from agent.skills.allowed_tools import ActiveSkills
from agent.tools import arguments, bash, catalogue
from agent.tools.extension_result import error_result, extension_result, limit_parts
from agent.tools.file_worker.client import CALL_S, FILE_TOOLS, FileCall, FileTools
from agent.tools.outcome import ToolError
from agent.tools.shell.command import KILL, ShellCommand, log_folder
from agent.transcript import Image, Text, ToolResult
from supervisor.calls.request_in_flight import ENDED
from supervisor.loop.future import Failure
from wire.suggestions import join_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from agent.abort import Abort
    from agent.confinement import Confinement
    from agent.skills.skill import Skill
    from agent.tools.extension_tools.tools import ExtensionTools
    from agent.transcript import ToolCall
    from agent.trial.trial import Trial
    from supervisor.calls.guarded_call import GuardedCall
    from supervisor.calls.request_in_flight import Cancellable
    from supervisor.loop.future import Pending
    from supervisor.loop.loop import Loop
    from supervisor.process.teardown import Stoppable
    from supervisor.supervisor import Supervisor
    from wire.trace_context import TraceContext


CANCELLED_S = KILL.in_all + 1.0
"""Maximum wait for cancelled calls in seconds. Most end within the next passes of the loop, a shell command with the
last of its processes."""
BUILT_IN = {spec.name: spec for spec in catalogue.SPECS}


class Wait(Protocol):
    """Waits until the predicate holds (True), or the deadline or an abort comes (False). Records are still emitted."""

    def __call__(self, predicate: Callable[[], bool], deadline: float) -> bool: ...


class CallFollower(Protocol):
    """Follows each call of a tool from before its guards judge it until its result is judged."""

    def begins(self, call: GuardedCall, extension: str) -> None:
        """`extension` is that of the tool; "" for a built-in tool."""

    def ended(self, call: GuardedCall, result: ToolResult) -> None: ...
    def context_of(self, call_id: str) -> TraceContext | None:
        """The span of this call, for programs that carry it out; None if unknown."""


class Toolbox:
    """The tools of one engine. `enabled` names the built-in tools that are on. The tool `skill` is also on if there are
    `skills`, and so are the `extension_tools`.
    `on_progress` gets the id of a call and a piece of its output."""

    def __init__(
        self,
        loop: Loop,
        supervisor: Supervisor,
        *,
        cwd: str,
        enabled: Collection[str],
        skills: Sequence[Skill] = (),
        extension_tools: ExtensionTools | None = None,
        trial: Trial | None = None,
        confinement: Confinement | None = None,
        on_progress: Callable[[str, str], None],
    ) -> None:
        self.on_begin: Callable[[str, str], Callable[[ToolResult], None]] | None = None
        """Called with each beginning call's tool and extension ("": built-in). Returns the function for its result."""
        self.follower: CallFollower | None = None
        self._loop = loop
        self._supervisor = supervisor
        self._registered = supervisor.registrations
        self._cwd = cwd
        self.skills = tuple(skills)
        self._active_skills: ActiveSkills | None = None
        """The skills of the running prompt; None until it loads one."""
        self._specs = {name: spec for name, spec in BUILT_IN.items() if name in enabled}
        if skills:
            self._specs[catalogue.SKILL.name] = catalogue.SKILL
        self._extension_tools = extension_tools
        self._of_extension_tools = {spec.name: spec for spec in extension_tools.specs} if extension_tools else {}
        self._specs |= self._of_extension_tools
        self.built_in = frozenset(self._specs)
        """The names of the tools that no extension has."""
        self.prompt_end = ""
        """Why a guard of errors wants the prompt to end after a call that an extension has made; "" if none does."""
        self._trial = None if trial is None else trial.tools
        self._on_progress = on_progress
        self._confinement = confinement
        self._files = FileTools(loop, cwd, "" if confinement is None else confinement.root)
        self._commands: list[ShellCommand] = []
        self._logs = log_folder()

    def warm_up(self, tool: str) -> None:
        """Starts the tool's process, so that its first call does not wait for that. Called when the model begins a
        call: most runs need no file worker."""
        if tool in self.built_in & FILE_TOOLS:
            self._files.start()

    def offered(self) -> list[ToolSpec]:
        """The tools for the next request to the model, sorted by name."""
        specs = [*self._specs.values()]
        offered = (owned.tool for owned in self._registered.offered())
        specs += [ToolSpec(tool.name, tool.description, tool.schema) for tool in offered]
        return sorted(specs, key=lambda spec: spec.name)

    def instructions(self) -> str:
        """The texts of extensions about their tools, for the end of the system prompt's first block."""
        return self._registered.instructions()

    def knows(self, name: str) -> bool:
        """Whether the tool exists or existed: its extension may have ended since the tool was offered."""
        if name in self.built_in or name in self._registered.tools() or self._registered.owner_of(name) is not None:
            return True
        return self._trial is not None and self._trial.stands_for(name)

    def is_hidden(self, name: str) -> bool:
        """Whether the model is not offered the tool: it is deferred, and no result has activated it."""
        owned = None if name in self.built_in else self._registered.tools().get(name)
        return owned is not None and not owned.is_offered

    def take_activated(self) -> tuple[str, ...]:
        """The deferred tools that results have activated since the last call."""
        names = tuple(self._registered.activated)
        self._registered.activated.clear()
        return names

    def extension_of(self, name: str) -> str:
        """The extension that has or had the tool; "" for a built-in or unknown tool."""
        owner = None if name in self.built_in else self._registered.owner_of(name)
        return "" if owner is None else owner.name

    def is_read_only(self, name: str) -> bool:
        """Whether calls of the tool may run at the same time as calls of other read-only tools."""
        owned = None if name in self.built_in else self._registered.tools().get(name)
        return owned is not None and owned.tool.read_only

    def begin_prompt(self) -> None:
        """Ends the effect of all active skills, and of guards on the prompt before."""
        self._active_skills = None
        self.prompt_end = ""

    def refusal(self, call: ToolCall) -> str:
        """Why the active skills do not allow the call; "" if they do. The call's arguments must be a JSON object."""
        return "" if self._active_skills is None else self._active_skills.refusal(call.name, call.args)

    def run(self, call: ToolCall, args: bytes, wait: Wait, abort: Abort) -> ToolResult:
        """Carries out one call with these arguments, a JSON object. The result of a failed call says why."""
        return self.run_beside([(call, args)], wait, abort)[0]

    def run_beside(self, calls: Sequence[tuple[ToolCall, bytes]], wait: Wait, abort: Abort) -> list[ToolResult]:
        """Carries out calls at the same time, until all have ended or the abort is requested. Several calls must all be
        of read-only tools. Returns the results in the order of the calls."""
        results: list[ToolResult | None] = [None] * len(calls)
        for index, (call, args) in enumerate(calls):
            self.begin(call, args, partial(results.__setitem__, index))
        # No deadline here: each call ends at the deadline of its tool.
        if not wait(lambda: None not in results, float("inf")):
            self.cancel_pending(abort.reason)
            self._loop.run_until(lambda: None not in results, self._loop.clock() + CANCELLED_S)
        return [
            error_result(call.id, f"aborted: {abort.reason}", Failure.CANCELLED)
            if result is None
            else self.fit_images(call, result, wait)
            for (call, _), result in zip(calls, results, strict=True)
        ]

    def fit_images(self, call: ToolCall, result: ToolResult, wait: Wait) -> ToolResult:
        """The result with images that a model takes. If one cannot be scaled, a built-in tool's result is an error."""
        if not any(isinstance(part, Image) for part in result.content):
            return result
        return fit_result(self._loop, result, wait, is_error=call.name in self.built_in)

    def fit_message(self, images: tuple[Image, ...], wait: Wait) -> tuple[Image, ...]:
        """The images of a message, scaled if a model would refuse them. Raises `UnfitImageError`."""
        return fit_message(self._loop, images, wait)

    def begin(
        self,
        call: ToolCall,
        args: bytes,
        done: Callable[[ToolResult], None],
        *,
        for_model: bool = True,
        on_progress: Callable[[str], None] | None = None,
    ) -> Cancellable:
        """Carries out one call with these arguments, a JSON object, without waiting. `done` gets the result, once, at
        once or later. The call must be of a tool that `knows`. A skill is active only if the result is `for_model`.
        `on_progress` gets each piece of output; None: that of all calls does."""
        name = call.name
        progressed = on_progress or partial(self._on_progress, call.id)
        ended = done if self.on_begin is None else _both(self.on_begin(name, self.extension_of(name)), done)
        if self._trial is not None and (given := self._given(call, args)) is not None:
            ended(given)
        elif name in self.built_in:
            if name in FILE_TOOLS:
                return self._begin_file_tool(call, args, ended)
            if name in self._of_extension_tools:
                assert self._extension_tools is not None
                self._extension_tools.begin(
                    name,
                    args,
                    lambda text, is_error, failure=None: ended(
                        ToolResult(call.id, limit_parts((Text(text),)), is_error, failure)
                    ),
                )
                return ENDED
            if name != catalogue.SKILL.name:
                return self._begin_command(call, args, ended, progressed)
            ended(self._load_skill(call, args, activates=for_model))
        elif (owned := self._registered.tools().get(name)) is not None:
            shown = f"{owned.owner.name}/{owned.tool.name}"
            return self._supervisor.begin_call(
                owned,
                args,
                lambda answer: ended(extension_result(call.id, shown, answer)),
                progressed,
                call.id,
                context=self._context_of(call),
            )
        else:
            owner = self._registered.owner_of(name)
            assert owner is not None
            why = owner.failure or "it no longer has this tool"
            ended(error_result(call.id, f"extension {owner.name}/{name} failed: {why}", Failure.DIED))
        return ENDED

    def _context_of(self, call: ToolCall) -> TraceContext | None:
        return None if self.follower is None else self.follower.context_of(call.id)

    def _given(self, call: ToolCall, args: bytes) -> ToolResult | None:
        """The result that a trial gives a call in place of making it; None if the call is made."""
        assert self._trial is not None
        if call.name in BUILT_IN:
            return self._trial.instead_of(call, args, is_built_in=True)
        stands = call.name not in self.built_in and call.name not in self._registered.tools()
        return self._trial.instead_of(call, args, is_built_in=False) if stands else None

    def stoppables(self) -> Sequence[Stoppable]:
        """The file worker and every shell command, also ended ones: these may have left background processes."""
        return [*self._files.stoppables(), *self._commands]

    def kill_now(self) -> None:
        """Sends SIGKILL to the file worker and to every shell command."""
        for child in (self._files.child, *(command.child for command in self._commands)):
            if child is not None:
                child.kill_group(signal.SIGKILL)

    def _begin_file_tool(self, call: ToolCall, args: bytes, ended: Callable[[ToolResult], None]) -> Cancellable:
        pending = self._files.call(call.name, args)

        def late() -> None:
            self._files.give_up(pending, Failure.TIMEOUT, f"no answer within {CALL_S:g} s")

        timer = self._loop.call_later(CALL_S, late)

        def answered() -> None:
            timer.cancel()
            ended(_file_result(call, pending))

        if pending.done:
            answered()
        else:
            pending.on_done = answered
        return FileCall(pending)

    def _begin_command(
        self, call: ToolCall, args: bytes, ended: Callable[[ToolResult], None], progressed: Callable[[str], None]
    ) -> Cancellable:
        try:
            request = bash.decode_call(arguments.decode(args))
        except ToolError as error:
            ended(error_result(call.id, str(error)))
            return ENDED

        def done(text: str, is_error: bool, failure: Failure | None = None) -> None:
            ended(ToolResult(call.id, (Text(text),), is_error, failure))

        if self._confinement is not None:
            from agent.tools.shell.confined_command import ConfinedCommand  # most runs are not confined

            return ConfinedCommand(
                self._loop, request, self._confinement, cwd=self._cwd, on_progress=progressed, done=done,
                on_started=self._commands.append, context=self._context_of(call),
            )  # fmt: skip
        command = ShellCommand(
            self._loop, request, cwd=self._cwd, logs=self._logs, on_progress=progressed, done=done,
            context=self._context_of(call),
        )  # fmt: skip
        self._commands.append(command)
        return command

    def _load_skill(self, call: ToolCall, args: bytes, *, activates: bool) -> ToolResult:
        try:
            loaded = find_skill(arguments.decode(args), self.skills)
        except ToolError as error:
            return error_result(call.id, str(error))
        if activates:
            self._active_skills = self._active_skills or ActiveSkills()
            self._active_skills.begin(loaded.name, loaded.allowed)
        return ToolResult(call.id, (Text(loaded.text),))

    def cancel_pending(self, reason: str) -> None:
        """Ends the running calls of built-in tools."""
        self._files.cancel_pending(reason)
        for command in self._commands:
            command.cancel(reason)
        if self._extension_tools is not None:
            self._extension_tools.cancel_pending(reason)


def _both(first: Callable[[ToolResult], None], second: Callable[[ToolResult], None]) -> Callable[[ToolResult], None]:
    def take(result: ToolResult) -> None:
        first(result)
        second(result)

    return take


def _file_result(call: ToolCall, pending: Pending) -> ToolResult:
    """The result of a file tool's call that has ended."""
    if pending.failure is not None:
        return error_result(call.id, f"{call.name}: {pending.reason}", pending.failure)
    answer: dict[str, Any] = pending.value
    parts = tuple(
        Text(block["text"]) if block["type"] == "text" else Image(block["mime_type"], block["data"])
        for block in answer["content"]
    )
    return ToolResult(call.id, parts, answer["is_error"])


NAMES_SHOWN = 50
QUOTED = 80
"""Maximum of an unknown name in the error about it, in characters."""


def find_skill(args: arguments.Arguments, skills: Sequence[Skill]) -> Skill:
    """The skill that a call names. Raises `ToolError`."""
    try:
        name = arguments.text(args, "name").strip()
    except ToolError as error:
        raise ToolError(f"skill: {error}") from None
    if not name:
        raise ToolError("skill: name is required")
    for skill in skills:
        if skill.name == name:
            return skill
    known = join_names(sorted(skill.name for skill in skills), NAMES_SHOWN)
    raise ToolError(f'skill: no skill named "{name[:QUOTED]}"; there {"is" if len(skills) == 1 else "are"} {known}')
