"""`zot batch score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.batch.completion import task_ids
from cli.batch.folder.shared_options import Folder, open_folder, run_and_exit
from cli.parameters import Json

if TYPE_CHECKING:
    from agent.batch.request import BatchRequest


def register(app: typer.Typer) -> None:
    app.command("score")(score)


def score(
    folder: Folder,
    tasks: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Score only these tasks. Default: all.", autocompletion=task_ids),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            "--with",
            help="Score with this command. Default: the score command of the task, or of the batch.",
            metavar="CMD",
            show_default=False,
        ),
    ] = None,
    missing: Annotated[bool, typer.Option("--missing", help="Score only results that have no score.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "-j",
            "--jobs",
            help="Score N results at the same time. Default: as many as there are cores.",
            metavar="N",
            min=1,
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Score the results of a batch again, without running a model.

    The command runs as the score command of a task does: in the folder of the task, or its copy, with the final text as
    its input and ZOT_STATUS in its environment. Its last line is the score, a number or a JSON object with score; else
    exit status 0 is 1, and another one 0. The new score replaces the one before in all that shows results. Only results
    that say something about the agent are scored: ok, check_failed, timeout and the like. An ID also names all its
    repetitions. With --json each result is one line: id, attempt, status, score, and failure if it was not scored.

    Ctrl-C keeps the scores so far; --missing makes the others. A batch that runs must end first.

    Exit status: 0 all have a score, 1 a batch runs in RUNDIR or its files cannot be written, 2 RUNDIR is no folder of a
    batch or misuse, 10 a result has no score, 130 interrupted.

    Examples:
        zot batch score runs                                     with the commands that the tasks have
        zot batch score runs --with 'python grade.py'            with another one
        zot batch score runs --with 'grep -q 42' fix-12          one task, by its final text
        zot batch score runs --missing                           what was interrupted or failed
        zot batch score runs --json | jq -c '[.id,.score.value]' for a program
    """
    run_and_exit("score", lambda: _run(folder, tasks or [], command, missing=missing, jobs=jobs, as_json=as_json))


def _run(folder: str, ids: list[str], command: str | None, *, missing: bool, jobs: int | None, as_json: bool) -> int:
    from agent.batch.opening.settings import request_of
    from agent.batch.scoring.rescorer import Rescorer
    from agent.batch.scoring.results_to_score import ScoringError
    from agent.request_checks import UsageError
    from cli.batch.output.score_output import ScoreOutput
    from cli.choices import CommandLineError
    from cli.version import VERSION

    if command is not None and not command.strip():
        raise CommandLineError("--with is empty: name the command")
    rundir = open_folder(folder)
    batch = rundir.read_batch()
    assert batch is not None
    request = request_of(batch.settings, rundir.path)
    output = ScoreOutput(as_json=as_json)
    try:
        rescorer = Rescorer(
            request, rundir, command=command, ids=ids, only_missing=missing, jobs=_jobs(jobs, request),
            version=VERSION, tell=output.tell, say=output.say, is_full=output.is_full,
        )  # fmt: skip
        output.begin(rescorer)
        try:
            rescorer.run()
        finally:
            output.end()
            rescorer.loop.close()
    except (ScoringError, UsageError) as error:
        raise CommandLineError(str(error)) from None
    return output.exit_code()


def _jobs(given: int | None, request: BatchRequest) -> int:
    from agent.batch.pool.jobs import DESCRIPTORS, available_memory, cores, default_jobs, jobs_within
    from supervisor.process import fd_limit

    wanted = given or default_jobs(cores(), available_memory(), request.run_memory)
    fd_limit.provide(wanted * DESCRIPTORS // fd_limit.OF_WORKER)
    return jobs_within(wanted, fd_limit.soft_limit())
