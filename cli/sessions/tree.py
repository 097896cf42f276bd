"""`zot session tree`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from cli.dialogue import say
from cli.json_line import print_json
from cli.parameters import Json
from cli.sessions.shared_options import All, Cwd, folder, listed, working

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import typer

    from agent.sessions.store import SessionInfo
    from agent.sessions.tree import Branch
    from wire.rpc import sessions

LINES = ("├─ ", "└─ ", "│  ", "   ")
ASCII_LINES = ("|- ", "`- ", "|  ", "   ")


def register(app: typer.Typer) -> None:
    app.command("tree")(tree)


def tree(everywhere: All = False, cwd: Cwd = None, as_json: Json = False) -> None:
    """Show which session is a fork of which.

    A fork whose original is not there stands alone. With --json a line for each session that is no fork of another one,
    with its forks in children.

    Exit status: 0 shown, also if there is none; 1 failed; 2 usage.

    Examples:
        zot session tree           those of this folder
        zot session tree --json | jq '.children | length'    how many forks each has
    """
    working("tree", lambda: _run(everywhere=everywhere, cwd=cwd, as_json=as_json))


def _run(*, everywhere: bool, cwd: str | None, as_json: bool) -> int:
    from agent.sessions.tree import tree as branches_of

    where = folder(cwd)
    roots = branches_of(listed(where, everywhere=everywhere, command="tree"))
    if as_json:
        from cli.sessions.records import fields

        for root in roots:
            print_json(fields(_record(root)))
    elif not roots:
        more = "" if everywhere else f" of {where}; zot session tree --all has those of all folders"
        say(f"no sessions{more}")
    else:
        from cli.columns import cut
        from cli.sessions.listing import terminal_width

        width = terminal_width()
        is_plain = not (sys.stdout.encoding or "").lower().startswith("utf")
        for line in drawn(roots, time.time(), ASCII_LINES if is_plain else LINES):
            sys.stdout.write(cut(line, width) + "\n")
    return 0


def drawn(
    branches: Sequence[Branch[SessionInfo]], now: float, lines: tuple[str, str, str, str], above: str | None = None
) -> Iterator[str]:
    """A line for each session, with `lines` to its left that lead to its original; roots have none."""
    from cli.sessions.listing import about

    fork, last, passing, empty = lines
    for branch in branches:
        is_last = branch is branches[-1]
        here, under = (last, empty) if is_last else (fork, passing)
        lead, below = ("", "") if above is None else (above + here, above + under)
        info = branch.session
        at = f"  (after message {info.fork_point})" if above is not None else ""
        yield f"{lead}{about(info, now)}{at}"
        yield from drawn(branch.children, now, lines, below)


def _record(branch: Branch[SessionInfo]) -> sessions.Branch:
    from agent.sessions.export.json import branch_record

    return branch_record(branch.session, tuple(map(_record, branch.children)))
