"""Tools that no two extensions may have: those that an extension claims with its hello."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.extension.restart import Cause

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from supervisor.discovery.found import Found
    from supervisor.extension.extension import Extension


class Claims:
    """Judges the claims of one host's extensions. `reserved` are the names of its built-in tools.

    Who has a name keeps it. Only if both claim it, the first in guard order has it, whichever says hello first: the
    other one is given up. What an extension that is being reloaded has is what its new version has.
    """

    def __init__(self, extensions: Sequence[Extension], reserved: Collection[str]) -> None:
        self._extensions = extensions
        self._reserved = frozenset(reserved)

    def judge(self, extension: Extension, found: Found, claimed: Collection[str]) -> str:
        """Returns why this version of the extension cannot have what it claims; "" if it can. Then those that have to
        yield are given up."""
        if not claimed:
            return ""
        if builtin := self._reserved.intersection(claimed):
            return f"its tool {min(builtin)!r} has the name of a built-in tool: each name is there once; rename it"
        yielding: list[tuple[Extension, str]] = []
        for other in self._extensions:
            if other is extension or other.is_given_up:
                continue
            theirs = other.next_registry
            for name in sorted({*theirs.claimed, *theirs.tools}.intersection(claimed)):
                if name not in theirs.claimed or other.found.order < found.order:
                    return _taken(name, other)
                yielding.append((other, name))
        for other, name in yielding:
            other.give_up(_taken(name, extension), Cause.UNSTARTABLE)
        return ""


def _taken(name: str, owner: Extension) -> str:
    return f"its tool {name!r} has the name of a tool of extension {owner.name}: each name is there once; rename one"
