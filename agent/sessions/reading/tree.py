"""Arranges sessions and their forks as a tree. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence


class Forkable(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def parent(self) -> str:
        """The id of the session that it is a fork of; "" if it is none."""
        ...


ForkableT = TypeVar("ForkableT", bound=Forkable)
DEPTH = 100
"""Maximum depth of branches; deeper forks are all put at this depth. JSON readers limit the nesting."""


class Branch(msgspec.Struct, Generic[ForkableT], frozen=True):
    """A session at its place in the tree."""

    session: ForkableT
    children: list[Branch[ForkableT]]
    """Its forks."""


def tree(sessions: Sequence[ForkableT]) -> list[Branch[ForkableT]]:
    """The roots. Each session is in the tree once; sessions of one level keep their order. A session whose parent is
    missing is a root. Of sessions that name each other as parents, the first one is a root."""
    numbers: dict[str, int] = {}
    for number, session in enumerate(sessions):
        if session.id:
            numbers.setdefault(session.id, number)
    parents = [numbers.get(session.parent) if session.parent else None for session in sessions]
    forks: dict[int | None, list[int]] = {}
    for number, parent in enumerate(_without_loops(parents)):
        forks.setdefault(parent, []).append(number)
    roots: list[Branch[ForkableT]] = []
    left = [(number, roots, 0) for number in reversed(forks.get(None, []))]
    while left:
        number, level, depth = left.pop()
        branch = Branch(sessions[number], [])
        level.append(branch)
        below = branch.children if depth < DEPTH else level
        left += [(fork, below, min(depth + 1, DEPTH)) for fork in reversed(forks.get(number, []))]
    return roots


def _without_loops(parents: list[int | None]) -> list[int | None]:
    """The parents; in each loop, the first session has none."""
    kept = list(parents)
    is_known = [False] * len(kept)
    """Whether the way up from each session is known to end."""
    for number in range(len(kept)):
        way: list[int] = []
        on_way: set[int] = set()
        at: int | None = number
        while at is not None and not is_known[at] and at not in on_way:
            way.append(at)
            on_way.add(at)
            at = kept[at]
        if at is not None and at in on_way:
            kept[min(way[way.index(at) :])] = None
        for passed in way:
            is_known[passed] = True
    return kept
