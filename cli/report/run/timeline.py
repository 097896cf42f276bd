"""Sorts happenings into lanes, and merges neighbours of one kind into one mark where there are too many to draw."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cli.report.input.recorded_run import Happening

PROMINENT = 20
"""Lanes of extensions that are shown at once; the others are folded away."""
COMMON_MARKS, PROMINENT_MARKS, FOLDED_MARKS = 900, 1400, 700
"""The most marks in the common lanes, in the lanes of extensions that are shown at once, and in the folded ones."""
PROMINENT_LIVES, FOLDED_LIVES = 200, 40
"""The most stretches of an extension's life, in a lane that is shown at once and in a folded one."""
FINEST = 512
"""The most stretches of time per lane. Marks of one kind in the same stretch may become one."""
ROWS = 4
"""The most rows of a lane, for calls that overlap."""


class LaneKind(Enum):
    TURNS = "turns"
    TOOLS = "tools"
    GUARDS = "guards"
    RUN = "run"
    """Warnings and errors of the run itself."""
    EXTENSION = "extension"


class Life(Enum):
    UP = "up"
    DOWN = "down"
    FAILED = "failed"


TROUBLE = {"failed": 100, "exited": 10, "limit": 10, "restarted": 5, "no_verdict": 5, "error": 5, "warning": 1}
"""The weight of each kind of mark. Lanes of extensions are sorted by the sum of their weights."""
_KINDS, _LIVES = list(LaneKind), list(Life)
_LIFE = {
    "started": Life.UP,
    "restarted": Life.UP,
    "reloaded": Life.UP,
    "exited": Life.DOWN,
    "stopped": Life.DOWN,
    "failed": Life.FAILED,
}


@dataclass(frozen=True)
class DrawnMark:
    """The drawn mark for one happening, or for several of one kind."""

    first: Happening
    count: int = 1
    end: float | None = None
    """The end of the last happening."""
    bad: int = 0
    longest: float | None = None
    row: int = 0


@dataclass(frozen=True)
class Lane:
    """One lane of the timeline."""

    kind: LaneKind
    name: str
    """The name of the extension; empty for a common lane."""
    marks: tuple[DrawnMark, ...]
    total: int
    """Count of happenings."""
    lives: tuple[tuple[float, float, Life], ...] = ()
    """The begin, end and state of each stretch of the extension's life."""
    rows: int = 1


def lanes_of(happenings: Sequence[Happening], end: float) -> tuple[Lane, ...]:
    """The lanes for turns, tools, guards and the run, then one for each extension with events, most trouble first."""
    members: dict[tuple[LaneKind, str], list[Happening]] = defaultdict(list)
    for happening in happenings:
        for lane in _lanes_for(happening):
            members[lane].append(happening)
    order = sorted(members, key=lambda key: (_KINDS.index(key[0]), -_trouble(members[key]), -len(members[key]), key[1]))
    common = sum(kind is not LaneKind.EXTENSION for kind, _ in order)
    shown = common + PROMINENT
    lanes: list[Lane] = []
    for part, most, changes in (
        (order[:common], COMMON_MARKS, 0),
        (order[common:shown], PROMINENT_MARKS, PROMINENT_LIVES),
        (order[shown:], FOLDED_MARKS, FOLDED_LIVES),
    ):
        columns = _columns([members[lane] for lane in part], end, most)
        lanes += (_lane(kind, name, members[kind, name], end, columns, changes) for kind, name in part)
    return tuple(lanes)


def _trouble(held: Iterable[Happening]) -> int:
    return sum(TROUBLE.get(happening.kind, 3 if happening.bad else 0) for happening in held)


def _lanes_for(happening: Happening) -> Iterable[tuple[LaneKind, str]]:
    if happening.kind == "turn":
        yield LaneKind.TURNS, ""
    elif happening.kind == "tool_call":
        yield LaneKind.TOOLS, ""
        if happening.bad and happening.extension:
            yield LaneKind.EXTENSION, happening.extension
    elif happening.kind == "intercept":
        yield LaneKind.GUARDS, ""
        if happening.bad and happening.extension:
            yield LaneKind.EXTENSION, happening.extension
    elif happening.extension:
        yield LaneKind.EXTENSION, happening.extension
    else:
        yield LaneKind.RUN, ""


def _columns(held: Sequence[list[Happening]], end: float, most: int) -> int | None:
    """The number of stretches that each lane is divided into; None if every happening can be drawn by itself."""
    if sum(map(len, held)) <= most:
        return None
    columns = FINEST
    cells = [{_cell(happening, end, columns) for happening in lane} for lane in held]
    while columns > 1 and sum(map(len, cells)) > most:
        columns //= 2
        cells = [{(kind, bad, at // 2) for kind, bad, at in lane} for lane in cells]
    return columns


def _cell(happening: Happening, end: float, columns: int) -> tuple[str, bool, int]:
    return happening.kind, happening.bad, int(happening.begin / (end or 1.0) * columns)


def _lane(kind: LaneKind, name: str, held: list[Happening], end: float, columns: int | None, changes: int) -> Lane:
    if columns is None:
        marks = [_single(happening) for happening in held]
    else:
        cells: dict[tuple[str, bool, int], list[Happening]] = defaultdict(list)
        for happening in held:
            cells[_cell(happening, end, columns)].append(happening)
        marks = sorted((_merge(cell) for cell in cells.values()), key=lambda mark: mark.first.begin)
    rows = 1
    if kind is LaneKind.TOOLS and columns is None:
        marks, rows = _stack(marks)
    lives = coarsen(lives_of(held, end), end, changes) if kind is LaneKind.EXTENSION else ()
    return Lane(kind, name, tuple(marks), len(held), lives, rows)


def _single(happening: Happening) -> DrawnMark:
    return DrawnMark(
        happening,
        1,
        happening.end,
        int(happening.bad),
        None if happening.end is None else happening.end - happening.begin,
    )


def _merge(cell: list[Happening]) -> DrawnMark:
    ends = [happening.begin if happening.end is None else happening.end for happening in cell]
    spans = [happening.end - happening.begin for happening in cell if happening.end is not None]
    return DrawnMark(
        first=cell[0],
        count=len(cell),
        end=max(ends) if spans or len(cell) > 1 else None,
        bad=sum(happening.bad for happening in cell),
        longest=max(spans, default=None),
    )


def _stack(marks: list[DrawnMark]) -> tuple[list[DrawnMark], int]:
    """Puts overlapping marks into rows of their own, up to `ROWS`; returns the marks and the number of rows."""
    free = [0.0]
    placed = []
    for mark in marks:
        begin = mark.first.begin
        row = next((row for row, until in enumerate(free) if until <= begin), None)
        if row is None:
            if len(free) < ROWS:
                free.append(0.0)
            row = len(free) - 1
        free[row] = max(free[row], begin if mark.end is None else mark.end)
        placed.append(replace(mark, row=row))
    return placed, len(free)


Lives = tuple[tuple[float, float, Life], ...]
"""The begin, end and state of each stretch."""


def lives_of(held: Iterable[Happening], end: float) -> Lives:
    """The stretches of an extension's life, from its happenings. If the first happening is an exit, the extension ran
    before."""
    lives: list[tuple[float, float, Life]] = []
    since, state = 0.0, None
    for happening in held:
        new = _LIFE.get(happening.kind)
        if new is None or new is state:
            continue
        before = Life.UP if state is None and new is not Life.UP else state
        if before is not None and happening.begin > since:
            lives.append((since, happening.begin, before))
        since, state = happening.begin, new
    if state is not None and end > since:
        lives.append((since, end, state))
    return tuple(lives)


def coarsen(lives: Lives, end: float, most: int) -> Lives:
    """At most `most` stretches. Each has the worst state of its time."""
    if len(lives) <= most:
        return lives
    width = end / most
    worst: dict[int, Life] = {}
    for begin, until, state in lives:
        for column in range(int(begin / width), min(int(until / width), most - 1) + 1):
            worst[column] = max(worst.get(column, state), state, key=_LIVES.index)
    joined: list[tuple[float, float, Life]] = []
    for column, state in sorted(worst.items()):
        begin = column * width
        if joined and joined[-1][2] is state and joined[-1][1] == begin:
            begin = joined.pop()[0]
        joined.append((begin, (column + 1) * width, state))
    return tuple(joined)
