"""All tools of a run, built-in ones and those of extensions: offers them to the model and carries out calls."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any, Protocol

from agent.images.scaler import fit_message, fit_result
from agent.model.request import ToolSpec
from agent.skills.allowed_tools import ActiveSkills
from agent.tools import arguments, bash, catalogue
from agent.tools.extension_result import error_result, extension_result, limit_parts
from agent.tools.file_worker.client import CALL_S, FILE_TOOLS, FileTools
from agent.tools.outcome import ToolError
from agent.tools.shell.command import ShellCommand, log_folder
from agent.transcript import Image, Text, ToolResult
from supervisor.loop.future import Failure
from wire.suggestions import join_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from agent.abort import Abort
    from agent.skills.skill import Skill
    from agent.tools.extension_tools.tools import ExtensionTools
    from agent.transcript import ToolCall
    from supervisor.loop.loop import Loop
    from supervisor.process.teardown import Stoppable
    from supervisor.supervisor import Supervisor


CANCELLED_S = 1.0
"""Maximum wait for cancelled calls in seconds; they end within the next passes of the loop."""
BUILT_IN = {spec.name: spec for spec in catalogue.SPECS}


class Wait(Protocol):
    """Waits until the predicate holds (True), or the deadline or an abort comes (False). Records are still emitted."""

    def __call__(self, predicate: Callable[[], bool], deadline: float) -> bool: ...


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
        on_progress: Callable[[str, str], None],
    ) -> None:
        self.on_begin: Callable[[str, str], Callable[[ToolResult], None]] | None = None
        """Called with each beginning call's tool and extension ("": built-in). Returns the function for its result."""
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
        self._enabled = frozenset(self._specs)
        self._on_progress = on_progress
        self._files = FileTools(loop, cwd)
        self._commands: list[ShellCommand] = []
        self._logs = log_folder()

    def warm_up(self, tool: str) -> None:
        """Starts the tool's process, so that its first call does not wait for that. Called when the model begins a
        call: most runs need no file worker."""
        if tool in self._enabled & FILE_TOOLS:
            self._files.start()

    def offered(self) -> list[ToolSpec]:
        """The tools for the next request to the model, sorted by name."""
        specs = [*self._specs.values()]
        offered = (owned.tool for owned in self._registered.tools().values())
        specs += [ToolSpec(tool.name, tool.description, tool.schema) for tool in offered]
        return sorted(specs, key=lambda spec: spec.name)

    def instructions(self) -> str:
        """The texts of extensions about their tools, for the end of the system prompt's first block."""
        return self._registered.instructions()

    def knows(self, name: str) -> bool:
        """Whether the tool exists or existed: its extension may have ended since the tool was offered."""
        return name in self._enabled or name in self._registered.tools() or self._registered.owner_of(name) is not None

    def extension_of(self, name: str) -> str:
        """The extension that has or had the tool; "" for a built-in or unknown tool."""
        owner = None if name in self._enabled else self._registered.owner_of(name)
        return "" if owner is None else owner.name

    def is_read_only(self, name: str) -> bool:
        """Whether calls of the tool may run at the same time as calls of other read-only tools."""
        owned = None if name in self._enabled else self._registered.tools().get(name)
        return owned is not None and owned.tool.read_only

    def begin_prompt(self) -> None:
        """Ends the effect of all active skills."""
        self._active_skills = None

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
            self._begin(index, call, args, wait, abort, results)
        # No deadline here: the supervisor ends each call at the deadline of its tool.
        if not wait(lambda: None not in results, float("inf")):
            self._loop.run_until(lambda: None not in results, self._loop.clock() + CANCELLED_S)
        return [
            error_result(call.id, f"aborted: {abort.reason}") if result is None else self.fit_images(call, result, wait)
            for (call, _), result in zip(calls, results, strict=True)
        ]

    def fit_images(self, call: ToolCall, result: ToolResult, wait: Wait) -> ToolResult:
        """The result with images that a model takes. If one cannot be scaled, a built-in tool's result is an error."""
        if not any(isinstance(part, Image) for part in result.content):
            return result
        return fit_result(self._loop, result, wait, is_error=call.name in self._enabled)

    def fit_message(self, images: tuple[Image, ...], wait: Wait) -> tuple[Image, ...]:
        """The images of a message, scaled if a model would refuse them. Raises `UnfitImageError`."""
        return fit_message(self._loop, images, wait)

    def _begin(
        self,
        index: int,
        call: ToolCall,
        args: bytes,
        wait: Wait,
        abort: Abort,
        results: list[ToolResult | None],
    ) -> None:
        observer = None if self.on_begin is None else self.on_begin(call.name, self.extension_of(call.name))

        def ended(result: ToolResult) -> None:
            results[index] = result
            if observer is not None:
                observer(result)

        if call.name in FILE_TOOLS and call.name in self._enabled:
            ended(self._run_file_tool(call, args, wait))
        elif call.name == catalogue.SKILL.name and call.name in self._enabled:
            ended(self._load_skill(call, args))
        elif call.name in self._of_extension_tools:
            assert self._extension_tools is not None
            self._extension_tools.begin(
                call.name,
                args,
                lambda text, is_error: ended(ToolResult(call.id, limit_parts((Text(text),)), is_error)),
            )
        elif call.name in self._enabled:
            ended(self._run_command(call, args, wait, abort))
        elif (owned := self._registered.tools().get(call.name)) is not None:
            name = f"{owned.owner.name}/{owned.tool.name}"
            self._supervisor.begin_call(
                owned,
                args,
                lambda answer: ended(extension_result(call.id, name, answer)),
                lambda text: self._on_progress(call.id, text),
                call.id,
            )
        else:
            owner = self._registered.owner_of(call.name)
            assert owner is not None
            why = owner.failure or "it no longer has this tool"
            ended(error_result(call.id, f"extension {owner.name}/{call.name} failed: {why}"))

    def stoppables(self) -> Sequence[Stoppable]:
        """The file worker and every shell command, also ended ones: these may have left background processes."""
        return [*self._files.stoppables(), *self._commands]

    def kill_now(self) -> None:
        """Sends SIGKILL to the file worker and to every shell command."""
        for child in (self._files.child, *(command.child for command in self._commands)):
            if child is not None:
                child.kill_group(signal.SIGKILL)

    def _run_file_tool(self, call: ToolCall, args: bytes, wait: Wait) -> ToolResult:
        pending = self._files.call(call.name, args)
        if not wait(pending.is_done, self._loop.clock() + CALL_S) and not pending.is_done():
            self._files.give_up(pending, Failure.TIMEOUT, f"no answer within {CALL_S:g} s")
        if pending.failure is not None:
            return error_result(call.id, f"{call.name}: {pending.reason}")
        answer: dict[str, Any] = pending.value
        parts = tuple(
            Text(block["text"]) if block["type"] == "text" else Image(block["mime_type"], block["data"])
            for block in answer["content"]
        )
        return ToolResult(call.id, parts, answer["is_error"])

    def _run_command(self, call: ToolCall, args: bytes, wait: Wait, abort: Abort) -> ToolResult:
        try:
            request = bash.decode_call(arguments.decode(args))
        except ToolError as error:
            return error_result(call.id, str(error))
        command = ShellCommand(
            self._loop,
            request,
            cwd=self._cwd,
            logs=self._logs,
            on_progress=lambda text: self._on_progress(call.id, text),
        )
        self._commands.append(command)
        wait(lambda: command.is_over, command.deadline)
        if abort.requested and not command.is_over:
            command.cancel()
        text, is_error = command.finish()
        return ToolResult(call.id, (Text(text),), is_error)

    def _load_skill(self, call: ToolCall, args: bytes) -> ToolResult:
        try:
            loaded = find_skill(arguments.decode(args), self.skills)
        except ToolError as error:
            return error_result(call.id, str(error))
        self._active_skills = self._active_skills or ActiveSkills()
        self._active_skills.begin(loaded.name, loaded.allowed)
        return ToolResult(call.id, (Text(loaded.text),))

    def cancel_pending(self, reason: str) -> None:
        """Fails the running calls of file tools, and of the tools that reload extensions."""
        self._files.cancel_pending(reason)
        if self._extension_tools is not None:
            self._extension_tools.cancel_pending(reason)


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
