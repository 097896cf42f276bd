"""`zot batch list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer  # noqa: TC002  (it reads the annotations)

from cli.batch.folder.shared_options import complain, run_and_exit
from cli.parameters import Json, Newest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEADINGS = ("STARTED", "STATE", "DONE", "OK", "COST", "FOLDER")
RIGHT = (2, 3, 4)
GIVES_WAY = (0, 4, 3)
"""Columns that are left out on a terminal that is too narrow, the least important first."""
SHOWN = 50
GONE, UNREADABLE = "gone", "unreadable"


def register(app: typer.Typer) -> None:
    app.command("list")(list_batches)


def list_batches(most: Newest = None, as_json: Json = False) -> None:
    """Show the batches of this user, the newest first: folder, state, tasks done and ok, and cost.

    They are known from the traces in $ZOT_HOME/runs, see zot runs, and from their sockets while they run. With
    --no-trace a batch is known only while it runs. state is running, done, or why the batch stopped, as in zot batch
    status; gone: the folder is no batch's any longer, unreadable: its journal cannot be read, and --json says why.

    Exit status: 0 shown, 1 failed, 2 misuse.

    Examples:
        zot batch list                                      the last 50
        zot batch list -n 5                                 the last 5
        zot batch list --json | jq -r 'select(.state == "killed").folder'    to go on with
    """
    run_and_exit("list", lambda: _run(most, as_json=as_json))


def _run(most: int | None, *, as_json: bool) -> int:
    from itertools import islice

    from cli.columns import cut_line, fit_columns, print_table
    from cli.json_line import print_json
    from cli.terminal import say, table_width

    found = (facts(folder, started) for folder, started in known_folders())
    if as_json:
        for batch in islice(found, most):
            print_json(batch)
        return 0
    rows = list(islice(found, (most or SHOWN) + 1))
    if not rows:
        from supervisor.home.zot_home import zot_home

        say(f"zot batch list: no batch has left a trace in {zot_home() / 'runs'}, and none runs")
        return 0
    width = table_width()
    shown = rows[: most or SHOWN]
    print_table(
        [cut_line(line, width) for line in fit_columns([HEADINGS, *map(_cells, shown)], width, GIVES_WAY, RIGHT)]
    )
    if len(rows) > len(shown):
        say(f"zot batch list: only the last {len(shown)} are shown; -n N shows more")
    return 0


def known_folders() -> Iterator[tuple[Path, float]]:
    """The folder of each batch, once, with the time of its last start as far as it is known; the newest first."""
    from pathlib import Path

    from supervisor.home.zot_home import zot_home
    from supervisor.traces.trace_reader import read_traces

    given = set()
    for folder, started in running_folders():
        given.add(folder)
        yield Path(folder), started
    for trace in read_traces(zot_home(), lambda line: complain("list", line)):
        folder = trace.header.folder
        if trace.header.kind == "batch" and folder and folder not in given:
            given.add(folder)
            yield Path(folder), trace.header.time


def running_folders() -> list[tuple[str, float]]:
    """The folders of the batches that run and answer, the newest first."""
    import time

    from agent.batch.control.client import running_states

    now = time.time()
    found = [(state.folder, now - state.elapsed_s) for state in running_states()]
    return sorted(found, key=lambda each: -each[1])


def facts(folder: Path, started: float) -> dict[str, Any]:
    """The record of `--json`. `started` is the time of the last start that is known."""
    from agent.batch.journal.errors import FolderError, JournalError
    from agent.batch.journal.folder import RunFolder
    from agent.batch.journal.reader import read_journal
    from wire.text import valid_text

    record: dict[str, Any] = {
        "folder": valid_text(str(folder)), "state": GONE, "pid": None, "tasks": None, "done": None, "statuses": None,
        "cost_usd": None, "known_cost_usd": None, "started": started, "ended": None, "reason": "",
    }  # fmt: skip
    batch = RunFolder(folder)
    try:
        kept = batch.read_batch()
        if kept is None:
            return record
        state = read_journal(batch.journal).state
        is_running, pid = batch.running()
    except (FolderError, JournalError) as error:
        return record | {"state": UNREADABLE, "reason": valid_text(str(error))}
    statuses = state.statuses()
    closed = state.closed
    return record | {
        "state": "running" if is_running else "killed" if closed is None else closed.reason,
        "pid": pid if is_running else None,
        "tasks": kept.tasks,
        "done": sum(statuses.values()),
        "statuses": statuses,
        "cost_usd": state.cost_usd,
        "known_cost_usd": round(state.known_cost_usd, 6),
        "started": started if state.opened is None else state.opened.t,
        "ended": None if closed is None or is_running else closed.t,
    }


def _cells(batch: dict[str, Any]) -> tuple[str, ...]:
    from cli.number_format import count_text, dollars
    from cli.runs.cells import NOTHING, when
    from cli.terminal import terminal_text

    folder, started = terminal_text(batch["folder"]), when(batch["started"])
    if batch["tasks"] is None:
        return started, batch["state"], NOTHING, NOTHING, NOTHING, folder
    state = f"running ({batch['pid']})" if batch["pid"] else batch["state"]
    known = dollars(batch["known_cost_usd"])
    return (
        started,
        state,
        f"{count_text(batch['done'])}/{count_text(batch['tasks'])}",
        count_text(batch["statuses"].get("ok", 0)),
        known if batch["cost_usd"] is not None else f"≥ {known}",
        folder,
    )
