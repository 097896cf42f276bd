"""The `zot` command."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli.ext import ext_app
from cli.host_commands import register
from cli.root_group import RootGroup
from cli.run.command import root

HELP = """\
Runs a coding agent headless, with extensions as crash-isolated processes.

[bold]Examples[/bold]

  zot demo                                    a complete run, no key needed
  zot -p "what does this project do?"         the answer as text
  zot --json "fix the failing test"           one JSON event per line
  git diff | zot -p                           the prompt from a pipe
  zot -p "/meter"                             a command of an extension
  zot -p -- "/meter?"                         the same as text; so with a dash
  zot -p -e ./guard "tidy up the build"       with an extension from a folder
  zot --json --record run.jsonl "…"           keep the model's answers …
  zot --json --replay run.jsonl "…"           … and run again without it
  zot ext new hello; zot ext install hello    write an extension, install it
  zot host -e ./guard                         extensions without an agent
  zot top                                     what each extension uses, live

[bold]Exit status[/bold]

  0 ok, 1 error, 2 usage, 3 blocked by a guard, 4 max steps, 6 timeout,
  7 authentication, 8 rate limit, 9 required extension missing,
  130 interrupted. The result record of --json has the same.
"""

app = typer.Typer(
    cls=RootGroup,
    invoke_without_command=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.callback(help=HELP)(root)


@app.command("demo")
def demo(
    json: Annotated[bool, typer.Option("--json", help="Print the run's events instead.")] = False,
) -> None:
    """Show a complete run on a recorded model, with four extensions. No key, no network.

    Example: [bold]zot demo[/bold], or [bold]zot demo --json | jq .type[/bold]
    """
    from cli.run.demo import run_demo

    sys.exit(run_demo(as_json=json))


@app.command("doctor")
def doctor(
    json: Annotated[bool, typer.Option("--json", help="One JSON object instead of lines.")] = False,
) -> None:
    """Say what is in force on this machine, what is wrong, and what to do. Exits 1 if a check fails.

    Example: [bold]zot doctor[/bold], or [bold]zot doctor --json | jq '.checks[] | select(.level != "ok")'[/bold]
    """
    from cli.doctor.command import run_doctor

    sys.exit(run_doctor(as_json=json))


@app.command("schema")
def schema(
    name: Annotated[str | None, typer.Argument(help="One of the names that the command lists without it.")] = None,
) -> None:
    """Print a JSON Schema: of the manifest, a frame, an event or the result record.

    Example: [bold]zot schema manifest > extension.schema.json[/bold]
    """
    from cli.schema import show_schema

    show_schema(name)


@app.command("report")
def report(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A file of --stats, or the output of --json; - for stdin.")],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            show_default=False,
            help="Where the page goes; - for stdout. Default: RUN with .html.",
        ),
    ] = None,
) -> None:
    """Make one page of charts: what each extension used over time, how fast it answered, and what happened.

    The page needs nothing else and works offline. From --json alone there is no use over time.

    Example: [bold]zot --json --stats run.stats "…" && zot report run.stats -o report.html[/bold]
    """
    from cli.report.command import make_report

    sys.exit(make_report(run, output))


register(app)
app.add_typer(ext_app, name="ext")


def main() -> None:
    """Runs the command line and exits. An error of the command line gives one line on stderr, like all other errors."""
    try:
        status = app(prog_name="zot", standalone_mode=False)
    except typer.TyperException as error:
        if text := error.format_message():  # empty when the help has been printed instead
            context = getattr(error, "ctx", None)
            command = context.command_path if context is not None else "zot"
            dash = "; a prompt that begins with a dash goes after --" if _is_about_a_flag_of_a_prompt(error) else ""
            print(f"zot: {text}{dash} (see {command} --help)", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
    except OSError as error:  # the help could not be written: its reader has gone, or the disk is full
        from cli.os_errors import exit_after

        exit_after(error)
    sys.exit(status if isinstance(status, int) else 0)


def _is_about_a_flag_of_a_prompt(error: typer.TyperException) -> bool:
    context = getattr(error, "ctx", None)
    return hasattr(error, "option_name") and (context is None or context.parent is None)
