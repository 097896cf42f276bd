"""The commands that find out which extension did it, as typer sees them. Their work is imported when one runs."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.os_errors import exit_with


def register(app: typer.Typer) -> None:
    app.command("bisect")(ext_bisect)


def ext_bisect(
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- zot -p --replay FILE ...", help="The run that goes bad, with its recording."),
    ],
    check: Annotated[
        str | None,
        typer.Option(
            "--check",
            metavar="CMD",
            show_default=False,
            help="Run this shell command after each run, with the run's output on stdin and its exit status in "
            "$ZOT_EXIT_STATUS. Exit 0: good, 125: cannot tell, other: bad.",
        ),
    ] = None,
    check_text: Annotated[
        str | None,
        typer.Option(
            "--check-text",
            metavar="RE",
            show_default=False,
            help="Bad if the answer, a tool result, a notice or stderr matches this regular expression of Python.",
        ),
    ] = None,
    max_s: Annotated[
        float | None,
        typer.Option("--max-s", metavar="N", min=0.01, help="Bad if the run takes longer than N seconds."),
    ] = None,
    max_rss: Annotated[
        float | None,
        typer.Option("--max-rss", metavar="N", min=0.1, help="Bad if an extension has had more than N MiB of memory."),
    ] = None,
    differs: Annotated[
        bool,
        typer.Option(
            "--differs",
            help="Bad if requests, status or answer differ from the recording as they do with all extensions.",
        ),
    ] = False,
    repeat: Annotated[
        int,
        typer.Option("--repeat", metavar="N", min=1, max=100, help="Make each run N times; the majority counts."),
    ] = 1,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.1,
            max=86400,
            help="Let a run take SECONDS at most; deadlines of extensions are shortened to parts of it.",
        ),
    ] = 30.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
) -> None:
    """Find the extension, or the extensions together, that make a recorded run go bad.

    It runs the command again and again with a part of its extensions; one of fifty takes nine runs at most, a pair
    twenty. The model's answers come from the recording, one after another, whatever is asked. The tools of an extension
    that is left out give their recorded results. No session is kept. Built-in tools run again as in any replay, with
    --differs they give their recorded results; a call that was not made with all extensions is never made.

    Exit status: 0 found, 1 not found: the run is never bad, always bad or unresolved, 2 the command or its recording
    cannot be used, 130 interrupted.

    Examples:
        zot ext bisect --check-text Traceback -- zot -p --replay run.jsonl "fix the test"
        zot ext bisect --check 'grep -q passed' -- zot -p --replay run.jsonl "fix the test"
        zot ext bisect --max-s 5 --timeout 10 -- zot -p --replay run.jsonl "fix the test"
        zot ext bisect --max-rss 200 --repeat 3 -- zot -p --replay run.jsonl "fix the test"
        zot ext bisect --differs --json -- zot -p --replay run.jsonl "fix the test"
    """
    from cli.ext.culprit.bisect import BisectArguments, run_bisect

    arguments = BisectArguments(tuple(command), check, check_text, max_s, max_rss, differs, repeat, timeout, as_json)
    exit_with("ext bisect", lambda: run_bisect(arguments))
