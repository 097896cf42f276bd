"""`zot batch merge`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Literal

import typer

from cli.batch.completion import folders
from cli.batch.folder.shared_options import working


class Prefer(Enum):
    _value_: Literal["first", "last", "ok"]
    first = "first"
    last = "last"
    ok = "ok"


def register(app: typer.Typer) -> None:
    app.command("merge")(merge)


def merge(
    parts: Annotated[
        list[str], typer.Argument(metavar="RUNDIR...", help="The folders of the batches.", autocompletion=folders)
    ],
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="The folder to make; it must not be there.", metavar="NEW")
    ] = None,
    prefer: Annotated[
        Prefer | None,
        typer.Option(
            help="Where batches contradict each other: the outcome of the first of them, of the last, or the first ok."
        ),
    ] = None,
) -> None:
    """Make one batch of several, such as the shards of one.

    Each task is in it once, with one outcome, and all attempts count in its cost. If two batches say different things
    about a task, nothing is merged without --prefer. The folders stay as they are.

    Exit status: 0 merged, 1 a journal is damaged or NEW cannot be written, 2 a RUNDIR is no folder of a batch, one is
    running, they contradict each other, or misuse.

    Examples:
        zot batch tasks.jsonl -o part1 --shard 1/2        on one machine
        zot batch tasks.jsonl -o part2 --shard 2/2        on another
        zot batch merge part1 part2 -o all                and together
        zot batch merge part1 part2 -o all --prefer ok    where one has run what the other had failed
    """
    working("merge", lambda: _run(parts, output, prefer))


def _run(parts: list[str], output: str | None, prefer: Prefer | None) -> int:
    from agent.batch.journal import merge as merging
    from cli.choices import CommandLineError
    from cli.dialogue import say
    from cli.number_format import plural
    from cli.version import VERSION

    if not output:
        raise CommandLineError("-o NEW is missing: the folder to make")
    chosen: merging.Prefer | None = prefer.value if prefer is not None else None
    made = merging.merge(
        [Path(part).absolute() for part in parts], Path(output).absolute(), version=VERSION, prefer=chosen
    )
    say(f"{output}: {plural(made.tasks, 'task')}, {made.done} of them done, {plural(made.attempts, 'attempt')}")
    if made.contradicting:
        say(f"of {plural(made.contradicting, 'task')} there were several outcomes: --prefer {chosen} has chosen")
    return 0
