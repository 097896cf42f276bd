"""The commands that find out which extension did it, as typer sees them. Their work is imported when one runs."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.help.completion import installed_extensions
from cli.os_errors import exit_with
from cli.parameters import HostOption, Json, Name, finite


def register(app: typer.Typer) -> None:
    app.command("bisect")(ext_bisect)
    app.command("profile")(ext_profile)
    app.command("replay")(ext_replay)
    app.command("torture")(ext_torture)


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
            help="Bad if a tool result, a notice, stderr, or an answer that is not the recorded one matches this "
            "regular expression of Python.",
        ),
    ] = None,
    max_s: Annotated[
        float | None,
        typer.Option(
            "--max-s", metavar="N", min=0.01, callback=finite, help="Bad if the run takes longer than N seconds."
        ),
    ] = None,
    max_rss: Annotated[
        float | None,
        typer.Option(
            "--max-rss",
            metavar="N",
            min=0.1,
            callback=finite,
            help="Bad if an extension has had more than N MiB of memory.",
        ),
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
            callback=finite,
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


def ext_profile(
    name: Name,
    seconds: Annotated[int, typer.Option(help="Sample for SECONDS.", metavar="SECONDS", min=1, max=600)] = 10,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            help="Write the profile to this file. Default: a new file in $ZOT_HOME/runs.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    pid: HostOption = None,
    as_json: Json = False,
) -> None:
    """Show in which functions a running extension spends its time.

    It samples the busiest Python or Node process of the extension a hundred times a second, and the extension goes on
    meanwhile. Python needs py-spy: pip install 'pyzot[profile]'. The five functions with the most time of their own are
    printed; the file has all, for https://www.speedscope.app.

    Exit status: 0 shown, 1 it cannot be profiled or no host can be asked, 2 no such extension, 130 interrupted.

    Examples:
        zot ext profile guard                            for ten seconds
        zot ext profile guard --seconds 30 -o slow.json  for longer, into this file
    """
    from cli.ext.culprit.profile import run_profile

    exit_with("ext profile", lambda: run_profile(name, pid, seconds=seconds, output=output, as_json=as_json))


def ext_replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A black box: RUN.NAME.N.box.jsonl in $ZOT_HOME/runs.")],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|PATH]",
            help="The extension, or its folder. Default: that of the black box, if it is installed.",
            show_default=False,
            autocompletion=installed_extensions,
        ),
    ] = None,
    cwd: Annotated[
        str | None,
        typer.Option("--cwd", metavar="DIR", help="Use this project folder. Default: an empty folder."),
    ] = None,
    wait: Annotated[
        float,
        typer.Option(
            "--wait",
            metavar="SECONDS",
            callback=finite,
            help="Wait up to SECONDS for each answer.",
            min=0.01,
            max=86400,
        ),
    ] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a line.")] = False,
) -> None:
    """Play the host's part of a black box to an extension, and say whether it falls again.

    The extension is started alone, with an empty data folder, and gets the recorded frames: each one when it has
    answered all that it had answered before. Its tools really run. A black box without contents has types only; then
    its calls of tools, commands and questions to guards are played with contents that are made up.

    Exit status: 0 it did not fall, 1 it falls again, 2 nothing could be played, 130 interrupted.

    Examples:
        zot ext replay ~/.local/state/zot/runs/ID.guard.1.box.jsonl    the installed one
        zot ext replay guard.1.box.jsonl ./guard                       the one in this folder
        zot ext replay guard.1.box.jsonl ./guard --cwd . --json        in this project, for a program
    """
    from cli.ext.culprit.replay import ReplayRequest, run_replay

    exit_with("ext replay", lambda: run_replay(ReplayRequest(file, name, cwd, wait, as_json)))


def ext_torture(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="The extension's folder, or its name, or that of an MCP server. Default: this folder.",
            show_default=False,
            autocompletion=installed_extensions,
        ),
    ] = ".",
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", help="Choose sizes and times by N. Default: a new one, shown.", min=0),
    ] = None,
    minutes: Annotated[
        float,
        typer.Option(
            "--minutes",
            metavar="M",
            callback=finite,
            help="Repeat the faults in random order for M minutes.",
            min=0.0,
            max=100_000.0,
        ),
    ] = 0.0,
    least: Annotated[
        float,
        typer.Option(
            "--min", metavar="SCORE", callback=finite, help="Fail below this score, 0 to 100.", min=0.0, max=100.0
        ),
    ] = 100.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON line for each fault, and a last one with the score.")
    ] = False,
) -> None:
    """Provoke more than seventy faults around an extension, and say which of them it stands.

    It calls the extension's tools: always the same one, a tool that only reads if there is one, with arguments made
    from its schema; else a guard or a command. The project and the data folder are scratch folders. The processes are
    killed, stopped, cut off and flooded; each fault has processes of its own, four faults at a time. A fault that does
    not apply does not count. docs/torture.md has all faults, with what a good extension does.

    Exit status: 0 the score is at least --min, 1 it is below, or the extension does not work without any fault, 2 no
    extension has that name, or usage, 130 interrupted: the faults so far are printed.

    Examples:
        zot ext torture ./hello                         all faults once, in less than a minute
        zot ext torture ./hello --seed 7                the same once more, if 7 was shown
        zot ext torture ./hello --minutes 30            for half an hour, in random order
        zot ext torture files --min 90 --json           an MCP server, for a program
    """
    from cli.ext.culprit.torture import TortureRequest, run_torture

    request = TortureRequest(path, seed, minutes, least, as_json)
    exit_with("ext torture", lambda: run_torture(request))
