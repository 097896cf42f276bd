"""The `zot` command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer._click.exceptions import NoArgsIsHelpError

from cli.batch import batch_app
from cli.choices import CommandLineError
from cli.events.commands import register as register_events
from cli.ext import ext_app
from cli.help.command_classes import HelpTyper
from cli.help.completion import command_names, schemas
from cli.help.root_group import BATCHES, EXTENSIONS, FILES, FIRST, HOSTS, SESSIONS, RootGroup
from cli.host_commands import register
from cli.mcp import mcp_app
from cli.metrics.commands import register as register_metrics
from cli.models.commands import register as register_models
from cli.os_errors import exit_after, exit_with
from cli.parameters import Prefer  # noqa: TC001  (typer reads the annotations)
from cli.run.command import root
from cli.runs import runs_app
from cli.sessions import session_app
from cli.skills import skill_app

HELP = """\
Runs a coding agent, with extensions as crash-isolated processes.

Examples:
    zot demo                                  a complete run; needs no key
    zot                                       on a terminal: a screen to talk to the agent
    zot -c -m claude-haiku-4-5                the screen with the newest session, another model
    zot -p "what does this project do?"       the answer as text
    zot -p -c "write a test for it"           resumes the newest session
    zot --json "fix the failing test"         one JSON event per line
    git diff | zot -p                         the prompt from a pipe
    zot -p "/meter"                           a command of an extension
    zot -p -- "/meter?"                       a prompt that begins with / or -
    zot -p -e ./guard "tidy up the build"     with the extension in a folder
    zot --json --record run.jsonl "go on"     keep the model's answers …
    zot --json --replay run.jsonl "go on"     … and run again without the model
    zot ext new hello; zot ext install hello  write an extension, install it
    zot mcp add time -- uvx mcp-server-time   an MCP server as an extension
    zot batch tasks.jsonl -o runs             many prompts, each in its own process
    zot rpc                                   a program drives the agent by stdin and stdout
    zot host -e ./guard                       extensions without an agent
    zot mcp serve                             the tools of extensions, for other agents
    zot top                                   what each extension uses, live

Exit status: 0 ok, 1 error, 2 usage, 3 blocked by a guard, 4 max steps, 5 budget, 6 timeout, 7 authentication,
8 rate limit, 9 required extension missing, 11 invalid answer, 130 interrupted.
"""

app = HelpTyper(
    cls=RootGroup,
    invoke_without_command=True,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.callback(help=HELP)(root)


@app.command("demo", rich_help_panel=FIRST)
def demo(
    json: Annotated[bool, typer.Option("--json", help="Print the run's events instead.")] = False,
    stats: Annotated[
        str | None, typer.Option(help="Write what each extension uses, for zot report.", metavar="FILE")
    ] = None,
    interactive: Annotated[bool, typer.Option("--interactive", help="Play it on the screen yourself.")] = False,
) -> None:
    """Show a whole run with four extensions. It needs no key and no network: the model's answers are recorded.

    Examples:
        zot demo                     what happens, line by line
        zot demo --json | jq .type   the events of the same run
        zot demo --stats demo.jsonl && zot report demo.jsonl   a page of charts of it
        zot demo --interactive       the same on a screen: press Enter
    """
    from cli.run.demo import play_demo, run_demo

    if interactive and (json or stats is not None):
        raise CommandLineError("--interactive excludes --json and --stats")
    if interactive:
        sys.exit(play_demo())
    sys.exit(run_demo(as_json=json, stats=stats))


@app.command("rpc", rich_help_panel=HOSTS)
def rpc() -> None:
    """Let a program drive the agent: requests on stdin, responses and events on stdout, one JSON object per line.

    It takes all flags of a run, see zot --help; --timeout holds for each prompt, and no session is kept. With
    ZOTCORE_RPC_TOKEN in its environment, the first line must be a hello with that token. With --listen it serves up
    to 64 programs at a time at a Unix socket until it is stopped, each with a conversation of its own. Requests and
    responses: docs/rpc.md.

    Exit status: 0 stdin has ended, or a stop with --listen, 1 the client does not read or has no token, or the socket
    is in use, 2 usage, 9 required extension missing, 130 by a signal (with --listen by a second one), or stdout closed
    in mid-work.

    Examples:
        echo '{"type":"prompt","message":"hello"}' | zot rpc            one prompt
        zot rpc -C ./project --no-tools                                 flags of a run
        zot --rpc -e ./guard                                            the same as zot rpc
        echo '{"type":"ping"}' | zot rpc | jq .data                     is it alive?
        zot rpc --listen $XDG_RUNTIME_DIR/agent.sock                    many programs, by a socket
    """
    raise AssertionError("it is read as the flag --rpc, see RootGroup")


@app.command("doctor", rich_help_panel=FIRST)
def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
) -> None:
    """Check this machine and its hosts: the settings in force, the faults, and advice.

    It asks each host, run and MCP server for its extensions in trouble, and waits at most 2 s for each. An extension
    that is not restarted is a failed check. An extension that ends again and again or for its limits, is near a
    limit, grows without end or is not trusted is a warning.

    Exit status: 0 no check failed, 1 one failed.

    Examples:
        zot doctor                                                         a line for each check
        zot doctor --json | jq '.checks[] | select(.level != "ok")'        only what is wrong
        zot doctor --json | jq '.checks[] | select(.host == 4242)'         only what is wrong in one host
    """
    from cli.doctor.command import run_doctor

    exit_with("doctor", lambda: run_doctor(as_json=json))


@app.command("schema", rich_help_panel=FILES)
def schema(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="The name of a schema. Default: list all names.", autocompletion=schemas),
    ] = None,
) -> None:
    """Print a JSON Schema of anything that zot reads or writes.

    Exit status: 0 printed, 2 there is no schema of that name.

    Examples:
        zot schema                                     the names of all schemas
        zot schema manifest > extension.schema.json    one of them, for an editor
    """
    from cli.schema import show_schema

    exit_with("schema", lambda: show_schema(name))


@app.command("report", rich_help_panel=FILES)
def report(
    run: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="A file of --stats, the output of --json, the id of a run (see zot runs), or the folder of a batch; - "
            "for stdin. Several folders of batches are read as one batch.",
        ),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            show_default=False,
            help="Write the page to this file; - is stdout. Default: RUN with .html; of a batch, RUN/report.html; of "
            "the id of a run, ID.html in the current folder.",
        ),
    ] = None,
    pages: Annotated[
        int | None,
        typer.Option(
            "--pages",
            metavar="N",
            min=0,
            show_default=False,
            help="Write pages of at most N tasks of a batch, failed tasks first. Default: 1000.",
        ),
    ] = None,
    prefer: Prefer = None,
    opens: Annotated[bool, typer.Option("--open", help="Open the page in the browser; without one say why.")] = False,
) -> None:
    """Make a page of charts from the figures of a run, or of a batch.

    For a run it shows use over time, how fast each extension answered, and what happened. The page is one file and
    works offline. A file of --json alone and the id of a run give no chart of use over time.

    For a batch it shows how the tasks have ended and why, what they cost, and how many ran at a time, also while the
    batch runs. The pages of its tasks go into a folder beside it: report-tasks beside report.html.

    Exit status: 0 made, also if no browser opens it; 1 the page cannot be written, 2 RUN cannot be read or usage.

    Examples:
        zot -p --stats run.stats "go on"         a run that keeps its figures
        zot report run.stats                     makes run.stats.html
        zot report run.stats -o report.html      the same page under another name
        zot --json "go on" | zot report - -o -   from a pipe to a pipe
        zot report last                          the newest run, from its trace
        zot report RUNDIR                        makes RUNDIR/report.html, and the pages of the tasks
        zot report RUNDIR --open                 and opens it in the browser
        zot report RUNDIR --pages 50             with the pages of 50 tasks at most
        zot report part1 part2 -o report.html    of the shards of a batch
    """
    from cli.report.command import make_report

    sys.exit(make_report(run[0], output, pages, more=run[1:], prefer=prefer and prefer.value, opens=opens))


@app.command("help", rich_help_panel=FIRST)
def help_(
    ctx: typer.Context,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[COMMAND]...",
            help="The command: one word, or two, such as ext logs.",
            autocompletion=command_names,
        ),
    ] = None,
) -> None:
    """List all commands, or show the help of one.

    Exit status: 0 printed, 2 there is no such command.

    Examples:
        zot help             the commands, with a line each
        zot help top         the same as zot top --help
        zot help ext logs    the same as zot ext logs --help
    """
    from cli.help.show import show_help

    show_help(ctx, command or ())


register(app)
register_events(app)
register_metrics(app)
register_models(app)
app.add_typer(batch_app, name="batch", rich_help_panel=BATCHES)
app.add_typer(ext_app, name="ext", rich_help_panel=EXTENSIONS)
app.add_typer(mcp_app, name="mcp", rich_help_panel=EXTENSIONS)
app.add_typer(skill_app, name="skill", rich_help_panel=EXTENSIONS)
app.add_typer(runs_app, name="runs", rich_help_panel=SESSIONS)
app.add_typer(session_app, name="session", rich_help_panel=SESSIONS)


def main() -> None:
    """Runs the command line and exits. An error of the command line gives one line on stderr, like all other errors."""
    try:
        status = app(prog_name="zot", standalone_mode=False)
    except typer.TyperException as error:
        text = error.format_message().removesuffix(".")
        if isinstance(error, NoArgsIsHelpError):  # then the text is the help
            _print(text)
        elif text := " ".join(text.split()):  # choices are listed one a line
            context = getattr(error, "ctx", None)
            command = context.command_path if context is not None else getattr(error, "command", None) or "zot"
            dash = "; a prompt that begins with a dash goes after --" if _is_about_a_flag_of_a_prompt(error) else ""
            print(f"zot: {text}{dash} (see {command} --help)", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
    except OSError as error:  # the help could not be written: its reader has gone, or the disk is full
        exit_after(error)
    sys.exit(status if isinstance(status, int) else 0)


def _print(text: str) -> None:
    try:
        print(text, flush=True)  # noqa: T201
    except OSError as error:
        exit_after(error)


def _is_about_a_flag_of_a_prompt(error: typer.TyperException) -> bool:
    context = getattr(error, "ctx", None)
    return hasattr(error, "option_name") and (context is None or context.parent is None)
