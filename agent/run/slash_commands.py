"""Slash commands of extensions: parses `/name args`, asks the extension, and turns its answer into a result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

import msgspec

from supervisor.loop.future import Failure
from wire import events
from wire.exit_codes import Status
from wire.suggestions import did_you_mean, join_names, no_such
from wire.text import noun_for, valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from agent.abort import Abort
    from agent.output.event_writer import EventWriter
    from supervisor.calls.command_call import CommandAnswer
    from supervisor.discovery.skipped_extension import SkippedExtension
    from supervisor.supervisor import Supervisor
    from wire.frames import CommandResponse, Panel

COMMAND = re.compile(r"/([\w-](?:[^\s/]*[\w-])?)(?:\s+(.*))?", re.DOTALL)
REASONS_SHOWN = 3
"""Maximum of extensions without a start that an error about a command names."""
AS_TEXT = "to send it to the model as text, put -- or a space before it"


class Invocation(msgspec.Struct, frozen=True):
    """A command as the user wrote it."""

    name: str
    args: str


class CommandResult(msgspec.Struct, frozen=True):
    """Either a prompt for the model, or the text to print and the status of the run."""

    prompt: str | None = None
    text: str = ""
    status: Status = Status.OK
    reason: str = ""


def parse(prompt: str) -> Invocation | None:
    """The command in a prompt. None for text without a slash at its start, and for `/usr/bin is full` or `/* ...`."""
    found = COMMAND.fullmatch(prompt)
    return None if found is None else Invocation(found[1], (found[2] or "").strip())


class MeanwhileWork(Protocol):
    """Work during a command: the command may wait for the end of a prompt that it has sent."""

    @property
    def is_wanted(self) -> bool: ...

    def carry_out(self) -> None: ...


class SlashCommands:
    """Runs one command within its extension's deadline, 30 s unless its manifest says otherwise."""

    def __init__(
        self,
        supervisor: Supervisor,
        event_writer: EventWriter,
        abort: Abort,
        skipped: Sequence[SkippedExtension] = (),
        meanwhile: MeanwhileWork | None = None,
    ) -> None:
        """`skipped`: extensions that were found but are not started; one of them may have the command."""
        self._supervisor = supervisor
        self._skipped = skipped
        self._meanwhile = meanwhile
        self._event_writer = event_writer
        self._abort = abort

    def run(self, asked: Invocation) -> CommandResult:
        """Runs the command. Waits first for extensions that are still starting, unless one has registered it."""
        supervisor, registrations = self._supervisor, self._supervisor.registrations
        starting = [extension for extension in supervisor.extensions if not extension.is_settled]
        latest = max((extension.started_at + extension.start_s for extension in starting), default=0.0)
        self._event_writer.wait(
            lambda: registrations.find_command(asked.name) is not None or supervisor.is_settled, latest
        )
        if self._abort.is_requested():
            return self._abort_result()
        owned = registrations.find_command(asked.name)
        if owned is None:
            absent = [*_start_failures(supervisor), *_skip_reasons(self._skipped)]
            reason = unknown_command(asked.name, list(registrations.commands()), absent)
            return CommandResult(status=Status.ERROR, reason=f"{reason}; {AS_TEXT}")
        extension = valid_text(owned.owner.name)
        self._event_writer.emit(events.Command(extension, owned.command.name, asked.args))
        try:
            answer = self._ask(asked)
        except KeyError:  # a reload has removed the command while the run waited for a slow reader
            return _error(asked, f"extension {extension} no longer has this command")
        if self._abort.is_requested():
            return self._abort_result()
        if answer.frame is None:
            within = " (timeouts.command in its manifest)" if answer.failure is Failure.TIMEOUT else ""
            return _error(asked, f"extension {extension} failed: {answer.reason}{within}")
        return self._act(asked, extension, answer.frame)

    def _ask(self, asked: Invocation) -> CommandAnswer:
        answers: list[CommandAnswer] = []
        owned = self._supervisor.registrations.command(asked.name)
        under_way = self._supervisor.begin_command(owned, asked.args, answers.append)
        self._wait(lambda: bool(answers))
        if not answers:
            under_way.cancel(self._abort.reason)
            self._supervisor.loop.run_until(lambda: bool(answers), self._supervisor.loop.clock() + 1.0)
        return answers[0]

    def _wait(self, is_over: Callable[[], bool]) -> None:
        """Waits for the end of a command, or for an abort."""
        meanwhile = self._meanwhile
        if meanwhile is None:
            self._event_writer.wait(is_over)
            return
        self._event_writer.wait(lambda: is_over() or meanwhile.is_wanted)
        while not is_over() and meanwhile.is_wanted and not self._abort.is_requested():
            meanwhile.carry_out()
            self._event_writer.wait(lambda: is_over() or meanwhile.is_wanted)

    def _act(self, asked: Invocation, extension: str, said: CommandResponse) -> CommandResult:
        if said.error:
            return _error(asked, said.error)
        emit: Callable[[events.Record], None] = self._event_writer.emit
        match said.action or "noop":
            case "noop":
                return CommandResult()
            case "prompt":
                text = said.prompt or ""
                return CommandResult(prompt=text) if text.strip() else CommandResult()
            case "insert":
                emit(events.ExtInsert(extension, said.insert or ""))
                return CommandResult(text=said.insert or "")
            case "display":
                emit(events.ExtDisplay(extension, said.display or ""))
                return CommandResult(text=said.display or "")
            case "open_panel" if said.open_panel is not None:
                return CommandResult(text=_panel_text(said.open_panel))
            case unknown:
                return _error(asked, f"extension {extension} failed: there is no action {unknown[:80]!r}")

    def _abort_result(self) -> CommandResult:
        assert self._abort.status is not None
        return CommandResult(status=self._abort.status, reason=self._abort.reason)


def unknown_command(name: str, known: Collection[str], absent: Iterable[tuple[str, str]]) -> str:
    """The error about a command that no extension has registered. `absent` has the name of each extension that does
    not run, so that its commands are unknown, and the end of a sentence with the reason."""
    slashed = [f"/{command}" for command in known]
    reasons: dict[str, list[str]] = {}
    for extension, why in sorted(absent, key=lambda each: each[0] != name):
        reasons.setdefault(why, []).append(extension)
    if not reasons:
        near = no_such("command", f"/{name}", slashed).rstrip("?")
        return near if known else f"no such command: '/{name[:80]}'; no extension here has one"
    parts = [f"{noun_for(len(names), 'extension')} {join_names(names)} {why}" for why, names in reasons.items()]
    more = [f"and {len(parts) - REASONS_SHOWN} more faults"] if len(parts) > REASONS_SHOWN else []
    near = did_you_mean(f"/{name}", slashed).rstrip("?")
    return "; ".join(
        [
            f"no extension that runs has the command '/{name[:80]}'",
            *parts[:REASONS_SHOWN],
            *more,
            *([near] if near else []),
        ]
    )


def _start_failures(supervisor: Supervisor) -> Iterator[tuple[str, str]]:
    for extension in supervisor.extensions:
        if not extension.was_ready:
            failure = valid_text(extension.failure)
            yield valid_text(extension.name), f"did not start: {failure}" if failure else "is still starting"


def _skip_reasons(skipped: Iterable[SkippedExtension]) -> Iterator[tuple[str, str]]:
    for each in skipped:
        if each.untrusted is not None:
            why = f"is {each.reason}"
        elif each.is_error:
            why = f"could not be loaded: {each.reason}"
        else:
            why = f"is {each.reason} (zot ext enable turns it on)"
        yield valid_text(each.name), valid_text(why)


def _error(asked: Invocation, reason: str) -> CommandResult:
    return CommandResult(status=Status.ERROR, reason=f"/{asked.name}: {reason}")


def _panel_text(panel: Panel) -> str:
    """A panel as text, for output that has no panels."""
    parts = [panel.title or "", *(panel.lines or ()), panel.footer or ""]
    return "\n".join(part for number, part in enumerate(parts) if part or 0 < number < len(parts) - 1)
