"""Shows a run to a person: what happened, line by line, and at the end what each extension cost."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import msgspec
from rich.text import Text

from cli.columns import fit_columns
from cli.number_format import dollars, elapsed, milliseconds
from cli.os_errors import discard_output
from cli.run.output.cpu_and_memory import cpu_and_memory
from cli.styled_lines import RaisingConsole
from cli.terminal import page_width
from wire import events
from wire.text import counted, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from wire.batch.outcome import Outcome

NARROWEST = 60
LABEL = 14
"""Columns of the left margin, which says who speaks."""
HEADINGS = ("extension", "CPU ms", "peak RSS", "frames", "calls", "blocked", "p50 ms", "p99 ms", "ended")
GIVES_WAY = (3, 8, 6, 4, 2)
"""Columns that are left out on a narrow screen, the least important first."""


class RunPrinter:
    """Prints records as they come. Colours on a terminal only, and not with `NO_COLOR`."""

    def __init__(self) -> None:
        self._console = RaisingConsole(highlight=False, width=max(NARROWEST, page_width()))
        self.on_broken: Callable[[str], None] = lambda _reason: None
        """Called once when stdout can no longer be written: with "" if its reader has gone, else with the reason."""
        self._broken = False
        self._calls: dict[str, events.ToolCall] = {}

    def title(self, text: str) -> None:
        self._print(Text(text, style="bold"))

    def show(self, record: events.Record) -> None:
        match record:
            case events.Session(extensions=names):
                self._line("extensions", ", ".join(names) or "none", "dim")
            case events.UserMessage(content=content, extension=sender):
                self._line(sender or "you", _text(content), "bold")
            case events.TurnStart(step=step):
                self._print()
                self._line(f"turn {step}", "", "dim")
            case events.AssistantMessage(content=content) if _text(content):
                self._line("model", _text(content), "cyan")
            case events.ToolCall(id=call_id):
                self._calls[call_id] = record
            case events.ToolResult():
                self._tool_result(record)
            case events.CompactDone(messages_before=before, messages_after=after):
                self._line("compacted", f"{counted(before, 'message')} became {after}", "yellow")
            case events.Extension(extension=name, event=kind, message=message) if kind not in ("started", "blocked"):
                self._line(name, message, "yellow")
            case events.Error(message=message):
                self._line("error", message, "red")

    def costs(self, result: events.Result) -> None:
        """Prints the summary, and the table of costs if there was an extension."""
        cost = "cost unknown" if result.cost_usd is None else f"{dollars(result.cost_usd)} at list price"
        tokens = counted(result.usage.input + result.usage.output, "token")
        turns = counted(result.steps, "turn")
        summary = f"{result.status}: {turns}, {elapsed(result.duration_ms / 1000)}, {tokens}, {cost}"
        self._print()
        self._print(Text(summary, style="bold" if result.exit_code == 0 else "bold red"))
        if not result.extensions:
            return
        self._print(Text("Cost of each extension", style="bold"))
        rows = [HEADINGS, *(_cells(name, used) for name, used in result.extensions.items())]
        heading, *lines = fit_columns(rows, self._console.width, GIVES_WAY, right=range(1, len(HEADINGS) - 1))
        self._print(Text(heading, style="dim"))
        for line in lines:
            self._print(Text(line))

    def outcome(self, outcome: Outcome, said: str) -> None:
        """Prints the node of a task of a batch, how its `setup`, `check` and `score` ended, and its own end unless
        that is what its run has `said`, a status."""
        if outcome.node:
            self._line("node", outcome.node, "")
        for what, end in (("setup", outcome.setup), ("check", outcome.check)):
            if end is not None:
                output = f"\n{end.output.strip()}" if end.exit_status else ""
                took = elapsed(end.duration_ms / 1000)
                self._line(what, f"{end.how}, {took}{output}", "red" if end.exit_status else "green")
        if (score := outcome.score) is not None:
            why = score.reason or ", ".join(f"{name} {value}" for name, value in score.values.items())
            value = "none" if score.value is None else f"{score.value:g}"
            self._line("score", value + (f": {why}" if why else ""), "red" if score.value is None else "green")
        if (status := outcome.status.value) not in (said, "ok"):
            self._print(Text(printable(f"{status}: {outcome.reason}"), style="bold red"))

    def hint(self, text: str) -> None:
        """Prints a last line, on what to do next."""
        self._print()
        self._print(Text(text), soft_wrap=True)

    def _print(self, *shown: Text, soft_wrap: bool = False) -> None:
        if self._broken:
            return
        try:
            self._console.print(*shown, soft_wrap=soft_wrap)
        except OSError as error:
            self._broken = True
            discard_output()
            self.on_broken("" if isinstance(error, BrokenPipeError) else str(error.strerror))

    def _tool_result(self, result: events.ToolResult) -> None:
        call = self._calls.get(result.id)
        name = call.name if call is not None else "tool"
        shown = _arguments(call) if call is not None else ""
        text = _text(result.content)
        if result.is_error:
            # A command of bash says at its end how it ended, behind an empty line; its first line is the command.
            ended = text.strip().rpartition("\n\n")[2].replace("\n", ", ")
            self._line(name, f"{shown}  ->  {ended if '[exit ' in ended else _first_line(text)}", "red")
        else:
            lines = text.count("\n") + 1
            outcome = _first_line(text) if lines == 1 else counted(lines, "line")
            self._line(name, f"{shown}  ->  {outcome}", "green")

    def _line(self, label: str, text: str, style: str) -> None:
        indent = " " * LABEL
        room = self._console.width - LABEL
        lines = [part for line in printable(text).split("\n") for part in textwrap.wrap(line, room) or [""]]
        head, *rest = lines
        self._print(Text.assemble((label.ljust(LABEL), "dim"), (head, style)) if head else Text(label, "dim"))
        for line in rest:
            self._print(Text(indent + line, style=style))


def _text(content: tuple[events.Content, ...]) -> str:
    return "\n".join(part.text for part in content if isinstance(part, events.TextContent))


def _arguments(call: events.ToolCall) -> str:
    """The command or the path of a call; all its arguments if it has neither."""
    args = msgspec.json.decode(call.args)
    if isinstance(args, dict):
        for key in ("command", "path"):
            if isinstance(args.get(key), str):
                return str(args[key])
    return bytes(call.args).decode("utf-8", "replace")


def _cells(name: str, used: events.Cost) -> tuple[str, ...]:
    return (
        name,
        *cpu_and_memory(used),
        f"{used.frames_in}/{used.frames_out}",
        str(used.calls),
        str(used.blocks),
        milliseconds(used.p50_ms),
        milliseconds(used.p99_ms),
        _exits_text(used),
    )


def _exits_text(used: events.Cost) -> str:
    """How its processes ended: `exit 0`; for several `3 times, last exit 1`."""
    last = used.exit_status or "-"
    return last if used.exits < 2 else f"{used.exits} times, last {last}"


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
