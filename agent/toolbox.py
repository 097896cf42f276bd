"""All tools of a run, built-in and from extensions: what is offered, and how one call is carried out."""

from __future__ import annotations

import base64
import binascii
import signal
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from agent.model.request import ToolSpec
from agent.tools import arguments, bash, catalogue
from agent.tools.failure import ToolError
from agent.tools.pool import CALL_S, FILE_TOOLS, FileTools
from agent.tools.shell import Command, log_folder
from agent.transcript import Image, Text, ToolResult
from supervisor.moment import Moment
from supervisor.pending import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from agent.abort import Abort
    from agent.transcript import ToolCall
    from supervisor.calls import Answer, OwnedTool
    from supervisor.loop import Loop
    from supervisor.supervisor import Supervisor
    from supervisor.termination import Stoppable
    from wire.frames import ContentBlock

BUILT_IN = {spec.name: spec for spec in (catalogue.BASH, catalogue.EDIT, catalogue.READ, catalogue.WRITE)}


class Waiting(Protocol):
    """How a tool waits: the run goes on reporting meanwhile, and an abort ends the wait."""

    def __call__(self, predicate: Callable[[], bool], deadline: float) -> bool: ...


class Toolbox:
    def __init__(
        self,
        loop: Loop,
        supervisor: Supervisor,
        abort: Abort,
        *,
        cwd: str,
        enabled: Collection[str],
        on_progress: Callable[[str, str], None],
        on_ran: Callable[[str, str, Moment, ToolResult], None] | None = None,
    ) -> None:
        """`on_ran` hears of each call that has ended: the tool, its extension ("" for a built-in one), when it began,
        and what came of it."""
        self._on_ran = on_ran
        self._loop = loop
        self._supervisor = supervisor
        self._abort = abort
        self._cwd = cwd
        self._enabled = frozenset(enabled)
        self._on_progress = on_progress
        self._files = FileTools(loop, cwd)
        self._commands: list[Command] = []
        self._logs = log_folder()
        abort.on_request(self._cancel)

    def warm_up(self) -> None:
        """Starts the file worker, so that it is there when the first call comes."""
        if self._enabled & FILE_TOOLS:
            self._files.start()

    def offered(self) -> list[ToolSpec]:
        """What the model is told of, sorted by name. Extensions that registered since the last turn are included."""
        specs = [ToolSpec(spec.name, spec.description, spec.input_schema) for spec in BUILT_IN.values()
                 if spec.name in self._enabled]  # fmt: skip
        offered = (owned.tool for owned in self._supervisor.tools().values())
        specs += [ToolSpec(tool.name, tool.description, tool.schema) for tool in offered]
        return sorted(specs, key=lambda spec: spec.name)

    def knows(self, name: str) -> bool:
        """Whether there is such a tool, be it of an extension that has died since it was offered."""
        return name in self._enabled or name in self._supervisor.tools() or self._supervisor.owner_of(name) is not None

    def run(self, call: ToolCall, args: bytes, wait: Waiting) -> ToolResult:
        """Carries out one call with these arguments, a JSON object. Whatever goes wrong is a result that says so."""
        began = Moment.now()
        owner = None if call.name in self._enabled else self._supervisor.owner_of(call.name)
        result = self._run(call, args, wait)
        if self._on_ran is not None:
            self._on_ran(call.name, owner.name if owner is not None else "", began, result)
        return result

    def _run(self, call: ToolCall, args: bytes, wait: Waiting) -> ToolResult:
        if call.name in self._enabled:
            if call.name in FILE_TOOLS:
                return self._run_file_tool(call, args, wait)
            return self._run_command(call, args, wait)
        owned = self._supervisor.tools().get(call.name)
        if owned is None:
            owner = self._supervisor.owner_of(call.name)
            assert owner is not None
            return failed(
                call.id, f"extension {owner.name}/{call.name} failed: {owner.failure or 'it no longer has this tool'}"
            )
        return self._run_extension_tool(call, owned, args)

    def stoppables(self) -> Sequence[Stoppable]:
        """The worker, and every command that was run: some have left something running in the background."""
        return [*self._files.stoppables(), *self._commands]

    def kill_now(self) -> None:
        """SIGKILL, without asking."""
        for child in (self._files.child, *(command.child for command in self._commands)):
            if child is not None:
                child.kill_group(signal.SIGKILL)

    def _run_file_tool(self, call: ToolCall, args: bytes, wait: Waiting) -> ToolResult:
        pending = self._files.call(call.name, args)
        if not wait(pending.is_done, self._loop.clock() + CALL_S) and not pending.is_done():
            self._files.give_up(pending, Failure.TIMEOUT, f"no answer within {CALL_S:g} s")
        if pending.failure is not None:
            return failed(call.id, f"{call.name}: {pending.reason}")
        answer: dict[str, Any] = pending.value
        parts = tuple(
            Text(block["text"]) if block["type"] == "text" else Image(block["mime_type"], block["data"])
            for block in answer["content"]
        )
        return ToolResult(call.id, parts, answer["is_error"])

    def _run_command(self, call: ToolCall, args: bytes, wait: Waiting) -> ToolResult:
        try:
            request = bash.decode_call(arguments.decode(args))
        except ToolError as error:
            return failed(call.id, str(error))
        command = Command(
            self._loop,
            request,
            cwd=self._cwd,
            logs=self._logs,
            on_progress=lambda text: self._on_progress(call.id, text),
        )
        self._commands.append(command)
        wait(lambda: command.is_over, command.deadline)
        if self._abort.requested and not command.is_over:
            command.cancel()
        text, is_error = command.finish()
        return ToolResult(call.id, (Text(text),), is_error)

    def _run_extension_tool(self, call: ToolCall, owned: OwnedTool, args: bytes) -> ToolResult:
        name = f"{owned.owner.name}/{owned.tool.name}"
        return extension_result(call.id, name, self._supervisor.call(owned, args))

    def _cancel(self, reason: str) -> None:
        self._files.cancel_pending(reason)


def failed(call_id: str, text: str) -> ToolResult:
    return ToolResult(call_id, (Text(text),), is_error=True)


def extension_result(call_id: str, name: str, answer: Answer) -> ToolResult:
    """An extension's answer as a result, by zot's rules: empty texts left out, images checked, unknown blocks named."""
    if answer.frame is None:
        if answer.failure is Failure.TIMEOUT:
            return failed(call_id, f"extension {name} failed: timeout waiting for {name} ({answer.reason})")
        if answer.failure is Failure.CANCELLED:
            return failed(call_id, f"aborted: {answer.reason}")
        return failed(call_id, f"extension {name} failed: {answer.reason}")
    parts: list[Text | Image] = []
    is_error = bool(answer.frame.is_error)
    for block in answer.frame.content or ():
        part, bad = _part(block, name)
        is_error = is_error or bad
        if part is not None:
            parts.append(part)
    return ToolResult(call_id, tuple(parts) or (Text("(extension returned no content)"),), is_error)


def _part(block: ContentBlock, name: str) -> tuple[Text | Image | None, bool]:
    extension = name.partition("/")[0]
    if block.type == "text":
        return (Text(block.text) if block.text else None), False
    if block.type != "image":
        return Text(f'[unknown block type "{block.type[:80]}" from extension {extension}]'), False
    try:
        base64.b64decode(block.data or "", validate=True)
    except (binascii.Error, ValueError) as error:
        return Text(f"extension {name} returned undecodable image: {error}"), True
    return Image(block.mime_type or "application/octet-stream", block.data or ""), False


def object_or_reason(args: bytes) -> str | None:
    """Why these arguments cannot be given to a tool; None if they are a JSON object."""
    try:
        value = orjson.loads(args)
    except orjson.JSONDecodeError as error:
        return f"invalid args: not valid JSON: {error}"
    if isinstance(value, dict):
        return None
    return f"invalid args: must be a JSON object, not {args[:80].decode('utf-8', 'replace')}"
