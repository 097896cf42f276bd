"""`zot session list` and `zot session tree`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from cli.json_line import print_json
from cli.parameters import Json
from cli.sessions.shared_options import All, Cwd, fields, folder, read_sessions, run_and_exit
from cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent.sessions.reading.tree import Branch
    from agent.sessions.store import SessionInfo
    from wire.rpc import sessions

LINES = ("├─ ", "└─ ", "│  ", "   ")
ASCII_LINES = ("|- ", "`- ", "|  ", "   ")
COLUMNS = ("id", "when", "messages", "tokens", "cost", "model", "folder")
RIGHT = ("messages", "tokens", "cost")
GIVES_WAY = ("model", "tokens", "messages", "cost")
TITLE_COLUMNS = 24
"""Minimum width of the title, in columns. Other columns are left out to keep it."""


def register(app: typer.Typer) -> None:
    app.command("list")(session_list)
    app.command("ls", hidden=True)(session_list)
    app.command("tree")(tree)


def session_list(
    everywhere: All = False,
    most: Annotated[int | None, typer.Option("-n", help="Show at most N. Default: all.", metavar="N", min=1)] = None,
    cwd: Cwd = None,
    as_json: Json = False,
) -> None:
    """List the sessions of a folder, the last used first.

    Tokens are input plus output, tokens from the cache included. A * after the id marks a session that a run writes to.

    Exit status: 0 listed, also an empty list; 1 failed; 2 usage.

    Examples:
        zot session list                          those of this folder
        zot session list --all -n 20              the newest 20 of all folders
        zot session list --json | jq -r .path     their files
    """
    run_and_exit("list", lambda: _list(everywhere=everywhere, most=most, cwd=cwd, as_json=as_json))


def _list(*, everywhere: bool, most: int | None, cwd: str | None, as_json: bool) -> int:
    where = folder(cwd)
    found = read_sessions(where, everywhere=everywhere, command="list")[:most]
    if as_json:
        from agent.sessions.export.json import session_record

        for info in found:
            print_json(fields(session_record(info)))
    elif not found:
        more = "" if everywhere else f" of {where}; zot session list --all has those of all folders"
        say(f"no sessions{more}")
    else:
        from cli.sessions.shared_options import terminal_width

        for line in table(found, terminal_width(), with_folder=everywhere):
            sys.stdout.write(line + "\n")
    return 0


def table(found: list[SessionInfo], width: int | None, *, with_folder: bool) -> list[str]:
    """Lines in columns, cut to `width`. The title comes last. If it had less than `TITLE_COLUMNS`, the columns of
    `GIVES_WAY` are left out, one after the other."""
    from cli.columns import align_columns, cut_line

    rows = [_row(info, time.time()) for info in found]
    kept = [name for name in COLUMNS if name != "folder" or with_folder]
    lines: list[str] = []
    for gone in ("", *GIVES_WAY):
        kept = [name for name in kept if name != gone]
        cells = [(*kept, "title"), *((*(row[name] for name in kept), row["title"]) for row in rows)]
        lines = align_columns(cells, {index for index, name in enumerate(kept) if name in RIGHT})
        if width is None or width - lines[0].rindex("title") >= TITLE_COLUMNS:
            break
    return [cut_line(line.rstrip(), width) for line in lines]


def _row(info: SessionInfo, now: float) -> dict[str, str]:
    from cli.sessions.shared_options import cost, short_id, short_text, tokens, when

    return {
        "id": short_id(info) + ("*" if info.in_use else ""),
        "when": when(info.modified, now),
        "messages": str(info.messages),
        "tokens": tokens(info.usage),
        "cost": cost(info.usage),
        "model": short_text(info.model, 40),
        "folder": short_text(_short(info.cwd)),
        "title": short_text(info.title, 200),
    }


def _short(path: str) -> str:
    """The path, with `~` for the user's home folder."""
    import os

    own = os.path.expanduser("~")
    return "~" + path[len(own) :] if own != "/" and (path == own or path.startswith(own + "/")) else path


def tree(everywhere: All = False, cwd: Cwd = None, as_json: Json = False) -> None:
    """Show sessions with their forks as a tree.

    A fork whose original is missing is shown as a root. With --json it prints a line for each root, with its forks in
    children.

    Exit status: 0 shown, also an empty tree; 1 failed; 2 usage.

    Examples:
        zot session tree           those of this folder
        zot session tree --json | jq '.children | length'    how many forks each has
    """
    run_and_exit("tree", lambda: _tree(everywhere=everywhere, cwd=cwd, as_json=as_json))


def _tree(*, everywhere: bool, cwd: str | None, as_json: bool) -> int:
    from agent.sessions.reading.tree import tree as branches_of

    where = folder(cwd)
    roots = branches_of(read_sessions(where, everywhere=everywhere, command="tree"))
    if as_json:
        for root in roots:
            print_json(fields(_record(root)))
    elif not roots:
        more = "" if everywhere else f" of {where}; zot session tree --all has those of all folders"
        say(f"no sessions{more}")
    else:
        from cli.columns import cut_line
        from cli.sessions.shared_options import terminal_width

        width = terminal_width()
        is_plain = not (sys.stdout.encoding or "").lower().startswith("utf")
        for line in draw_tree(roots, time.time(), ASCII_LINES if is_plain else LINES):
            sys.stdout.write(cut_line(line, width) + "\n")
    return 0


def draw_tree(
    branches: Sequence[Branch[SessionInfo]], now: float, lines: tuple[str, str, str, str], above: str | None = None
) -> Iterator[str]:
    """A line for each session. The characters of `lines` connect it with its original; roots have none."""
    from cli.sessions.shared_options import about

    fork, last, passing, empty = lines
    for branch in branches:
        is_last = branch is branches[-1]
        here, under = (last, empty) if is_last else (fork, passing)
        lead, below = ("", "") if above is None else (above + here, above + under)
        info = branch.session
        at = f"  (after message {info.fork_point})" if above is not None else ""
        yield f"{lead}{about(info, now)}{at}"
        yield from draw_tree(branch.children, now, lines, below)


def _record(branch: Branch[SessionInfo]) -> sessions.Branch:
    from agent.sessions.export.json import branch_record

    return branch_record(branch.session, tuple(map(_record, branch.children)))
