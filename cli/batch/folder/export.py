"""`zot batch export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.batch.folder.shared_options import Folder, working


def register(app: typer.Typer) -> None:
    app.command("export")(export)


def export(
    folder: Folder,
    sqlite: Annotated[
        str | None, typer.Option(help="Write this SQLite database, whole; it may be there.", metavar="FILE")
    ] = None,
) -> None:
    """Write everything that is known of a batch as a database, for queries.

    It has the tables batch, tasks, attempts, usage and extension_costs, and the view results with one row for each
    task that is done.

    Exit status: 0 written, 1 the journal is damaged, 2 RUNDIR is no folder of a batch, FILE cannot be written, or
    misuse.

    Examples:
        zot batch export runs --sqlite runs.db          write it, and then for example
        zot batch export runs --sqlite runs.db && sqlite3 runs.db 'select status, count(*) from results group by 1'
    """
    working("export", lambda: _run(folder, sqlite))


def _run(folder: str, sqlite: str | None) -> int:
    from agent.batch.journal.formats.sqlite_export import write_sqlite
    from cli.batch.folder.shared_options import results_of
    from cli.choices import CommandLineError
    from cli.dialogue import say

    if not sqlite:
        raise CommandLineError("name the database: --sqlite FILE")
    path = Path(sqlite)
    if not path.name or path.is_dir():
        raise CommandLineError(f"--sqlite {sqlite}: a folder; name the file in it")
    write_sqlite(results_of(folder), path)
    say(str(path))
    return 0
