"""Reads the events of a run (`--json`) into a recording: their order, their texts and the totals of its results.

Only messages have a time, so positions on the timeline are numbers in the order of events.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from cli.number_format import clock_text
from cli.report.input.recorded_run import (
    GOOD_STOPS,
    ExtensionFigures,
    Happening,
    RecordedRun,
    SourceKind,
    agent_facts,
    figures_of,
)
from wire import events

TOLD_BY_ARGUMENT = ("command", "path", "name")
"""Names of arguments. The page shows one argument of a call: the first of these that the call has."""
DETAIL_CHARACTERS = 400
MISSING = (
    "Made from a run's events. They hold no measurements over time: the charts of CPU and memory and the latency"
    " histograms are missing, and the timeline shows order, not time. For all of it, record with"
    " `zot --json --stats FILE …` and use `zot report FILE`."
)


class EventReader:
    """Takes the lines of one stream in order. A stream of several prompts (rpc) is one recording."""

    def __init__(self) -> None:
        self.decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(events.AnyRecord)
        self.types = EVENT_TYPES
        self.has_anything = False
        self._place = 0.0
        self._happenings: list[Happening] = []
        self._turn: tuple[float, int] | None = None
        self._calls: dict[str, tuple[float, str, str, str]] = {}
        """Calls without a result so far, by id: position, tool, its extension and the shown text."""
        self._ticks: list[tuple[float, str]] = []
        self._session: events.Session | None = None
        self._results: list[events.Result] = []
        self._moments: list[float] = []
        self._is_done = False

    def add(self, record: Any, _line: bytes, _number: int, _is_last: bool) -> None:
        self.has_anything = True
        match record:
            case events.Session():
                self._session = record
                self._saw(record.time)
            case events.UserMessage() | events.AssistantMessage():
                self._saw(record.time)
            case events.TurnStart(step=step):
                self._turn = (self._next(), step)
                self._ticks.append((self._turn[0], f"turn {step}"))
            case events.TurnEnd():
                self._end_turn(record.stop, record.error if isinstance(record.error, str) else "")
            case events.ToolCall():
                self._calls[record.id] = (self._next(), record.name, record.extension or "", _call_text(record))
            case events.ToolResult():
                self._end_call(record)
            case events.Extension():
                self._extension(record)
            case events.Error(message=message):
                self._point("error", detail=message, bad=True)
            case events.Result():
                self._results.append(record)
        self._is_done = isinstance(record, events.Done)

    def finish(self, notes: list[str]) -> RecordedRun:
        for begin, name, extension, told in self._calls.values():
            self._add(Happening(begin, None, "tool_call", name, extension, f"{told} (no result)", bad=True))
        if self._turn is not None:
            begin, step = self._turn
            self._add(Happening(begin, None, "turn", str(step), detail="did not end", bad=True))
        self._happenings.sort(key=lambda happening: happening.begin)
        results, session = self._results, self._session
        names = session.extensions if session else ()
        figures = {name: ExtensionFigures(name, is_counted=False) for name in names}
        for happening in self._happenings:
            if happening.extension and happening.extension not in figures:
                figures[happening.extension] = ExtensionFigures(happening.extension, is_counted=False)
        for result in results:
            figures |= {name: _figures(name, cost) for name, cost in result.extensions.items()}
        notes = [*notes, MISSING]
        if not results:
            notes.append(
                "There is no `result` record: the run was cut short, and the cost of its extensions is unknown."
            )
        elif not self._is_done:
            notes.append("The last record is not `done`: the stream is cut off, or was filtered.")
        return RecordedRun(
            source=SourceKind.EVENTS,
            title="A run of zot",
            facts=self._facts(),
            started=min(self._moments, default=None),
            end=max(1.0, self._place),
            duration_s=self._duration(),
            figures=tuple(figures.values()),
            happenings=tuple(self._happenings),
            notes=tuple(notes),
            order_ticks=tuple(self._ticks),
            is_counted=bool(results),
        )

    def _next(self) -> float:
        self._place += 1.0
        return self._place - 1.0

    def _add(self, happening: Happening) -> None:
        self._happenings.append(happening)

    def _point(self, kind: str, *, extension: str = "", detail: str = "", bad: bool = False) -> None:
        self._add(Happening(self._next() + 0.5, None, kind, extension=extension, detail=detail, bad=bad))

    def _end_turn(self, stop: str, error: str) -> None:
        begin, step = self._turn or (self._next(), 0)
        self._turn = None
        name, detail = str(step) if step else "", f"{stop}: {error}" if error else stop
        bad = bool(error) or stop not in GOOD_STOPS
        self._add(Happening(begin, self._next() + 1.0, "turn", name, detail=detail, bad=bad))

    def _end_call(self, result: events.ToolResult) -> None:
        begin, name, extension, told = self._calls.pop(result.id, (self._next(), "tool", result.extension or "", ""))
        text = next((part.text for part in result.content if isinstance(part, events.TextContent)), "")
        detail = f"{told}: {text}" if result.is_error else told
        detail = detail[:DETAIL_CHARACTERS]
        self._add(Happening(begin, self._next() + 1.0, "tool_call", name, extension, detail, bad=result.is_error))

    def _extension(self, record: events.Extension) -> None:
        if record.event == "remark":
            return  # the page shows troubles only, and a remark comes with a verdict that allows
        kind = "warning" if record.event == "late" else record.event
        self._point(kind, extension=record.extension, detail=record.message, bad=kind == "blocked")

    def _saw(self, time: str) -> None:
        try:
            moment = datetime.fromisoformat(time)
            self._moments.append(moment.timestamp())
        except (ValueError, OverflowError, OSError):
            pass

    def _duration(self) -> float | None:
        """Seconds of all prompts together; without a result, from the first to the last message."""
        if self._results:
            return sum(result.duration_ms for result in self._results) / 1000
        return max(self._moments) - min(self._moments) if len(self._moments) > 1 else None

    def _facts(self) -> tuple[tuple[str, str], ...]:
        facts, session = [], self._session
        if session is not None:
            facts += [("started", clock_text(min(self._moments, default=None))), ("folder", session.cwd)]
        model, provider = (session.model, session.provider) if session is not None else ("", "")
        facts += self._agent_facts(model, provider)
        if session is not None:
            facts.append(("zot", f"{session.zot_version}, session {session.id}"))
        return tuple((label, value) for label, value in facts if value)

    def _agent_facts(self, model: str, provider: str) -> list[tuple[str, str]]:
        """The facts of the agent, summed over all prompts; the outcome is that of the last prompt."""
        results = self._results
        dollars = [result.cost_usd for result in results]
        known = [cost for cost in dollars if cost is not None]
        tokens = [result.usage for result in results]
        return agent_facts(
            model,
            provider,
            (results[-1].status, results[-1].exit_code, results[-1].reason) if results else None,
            sum(result.steps for result in results),
            events.Totals(
                sum(used.input for used in tokens),
                sum(used.output for used in tokens),
                sum(used.cache_read for used in tokens),
                sum(used.cache_write for used in tokens),
            ),
            sum(known) if results and len(known) == len(dollars) else None,
        )


EVENT_TYPES = frozenset(
    str(msgspec.inspect.type_info(kind).tag)  # type: ignore[attr-defined]
    for kind in events.AnyRecord.__args__
)


def _figures(name: str, cost: events.Cost) -> ExtensionFigures:
    return figures_of(name, cost, cpu_s=cost.cpu_ms / 1000, processes=cost.processes_peak)


def _call_text(call: events.ToolCall) -> str:
    """The first argument in `TOLD_BY_ARGUMENT`, else all arguments; cut to `DETAIL_CHARACTERS`."""
    try:
        arguments = msgspec.json.decode(call.args)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        arguments = None
    if isinstance(arguments, dict):
        for key in TOLD_BY_ARGUMENT:
            if isinstance(arguments.get(key), str):
                return str(arguments[key])[:DETAIL_CHARACTERS]
    return bytes(call.args)[:DETAIL_CHARACTERS].decode("utf-8", "replace")
