"""The `zot` command."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from functools import partial
from math import isfinite
from typing import Annotated

import typer

from cli.choices import CommandLineError, Reasoning, tools_from
from cli.host_commands import register
from cli.root_group import LITERAL, RootGroup
from cli.version import VERSION

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


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"zot {VERSION}")
        raise typer.Exit


def _seconds(value: float | None) -> float | None:
    if value is not None and not isfinite(value):
        raise typer.BadParameter(f"{value} is not a number of seconds; leave it out for no limit")
    return value


_MODE = "What to print"
_MODEL = "The model"
_TOOLS = "Tools and extensions"
_RUN = "The run"


@app.callback(help=HELP)
def root(
    ctx: typer.Context,
    json: Annotated[
        bool, typer.Option("--json", help="Print events, one JSON object per line.", rich_help_panel=_MODE)
    ] = False,
    print_: Annotated[
        bool, typer.Option("-p", "--print", help="Print the final answer only.", rich_help_panel=_MODE)
    ] = False,
    provider: Annotated[
        str | None, typer.Option(help="anthropic (default) or replay.", metavar="NAME", rich_help_panel=_MODEL)
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model id; an unknown one is passed on, its cost is then unknown.",
            metavar="ID",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(help="Default: $ANTHROPIC_API_KEY.", metavar="KEY", show_default=False, rich_help_panel=_MODEL),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="Any server that speaks the Messages API.", metavar="URL", rich_help_panel=_MODEL),
    ] = None,
    system_prompt: Annotated[
        str | None,
        typer.Option(
            help="Instead of $ZOT_HOME/SYSTEM.md or the built-in one.", metavar="TEXT", rich_help_panel=_MODEL
        ),
    ] = None,
    append_system_prompt: Annotated[
        list[str] | None,
        typer.Option(help="Added to the system prompt; repeatable.", metavar="TEXT", rich_help_panel=_MODEL),
    ] = None,
    reasoning: Annotated[
        Reasoning | None, typer.Option(help="How much the model may think.", rich_help_panel=_MODEL)
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(help="Write the exchanges with the model to a cassette.", metavar="FILE", rich_help_panel=_MODEL),
    ] = None,
    replay: Annotated[
        str | None,
        typer.Option(
            help="Answer from a cassette; a request that differs is an error.", metavar="FILE", rich_help_panel=_MODEL
        ),
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option(help="Only these built-in tools: read,write,edit,bash.", metavar="CSV", rich_help_panel=_TOOLS),
    ] = None,
    no_tools: Annotated[
        bool, typer.Option("--no-tools", help="No built-in tools; those of extensions stay.", rich_help_panel=_TOOLS)
    ] = False,
    ext: Annotated[
        list[str] | None,
        typer.Option(
            "-e", "--ext", help="Start the extension in this folder; repeatable.", metavar="DIR", rich_help_panel=_TOOLS
        ),
    ] = None,
    no_ext: Annotated[
        bool,
        typer.Option("--no-ext", "--no-extensions", help="Only those named with --ext.", rich_help_panel=_TOOLS),
    ] = False,
    ext_wait: Annotated[
        float | None,
        typer.Option(
            help="Let the first request wait so long for extensions that are still starting. Default: as long as the"
            " model takes to get ready, 3 s at most.",
            metavar="SECONDS",
            min=0,
            callback=_seconds,
            rich_help_panel=_TOOLS,
        ),
    ] = None,
    trust_project: Annotated[
        bool,
        typer.Option(
            "--trust-project",
            help="Start the project's extensions in this run although they are not trusted.",
            rich_help_panel=_TOOLS,
        ),
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Reload an extension when its files change.", rich_help_panel=_TOOLS)
    ] = False,
    strict_guards: Annotated[
        bool,
        typer.Option(
            "--strict-guards", help="A guard that gives no verdict (crash, timeout) denies.", rich_help_panel=_TOOLS
        ),
    ] = False,
    stream_before_guards: Annotated[
        bool,
        typer.Option(
            "--stream-before-guards",
            help="Print text before guards of messages have seen it, as zot does.",
            rich_help_panel=_TOOLS,
        ),
    ] = False,
    cwd: Annotated[str | None, typer.Option(help="The project's folder.", metavar="DIR", rich_help_panel=_RUN)] = None,
    max_steps: Annotated[
        int | None, typer.Option(help="At most so many turns.", metavar="N", min=1, rich_help_panel=_RUN)
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            help="End the run after so long.", metavar="SECONDS", min=0.001, callback=_seconds, rich_help_panel=_RUN
        ),
    ] = None,
    no_session: Annotated[
        bool, typer.Option("--no-session", help="Keep no transcript under $ZOT_HOME/sessions.", rich_help_panel=_RUN)
    ] = False,
    stats: Annotated[
        str | None,
        typer.Option(
            help="Write what each extension uses, and a timeline, for zot report.", metavar="FILE", rich_help_panel=_RUN
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="Keep a file of metrics (OpenMetrics text) up to date, for node_exporter.",
            metavar="FILE",
            rich_help_panel=_RUN,
        ),
    ] = None,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("-v", "--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    if ctx.invoked_subcommand is not None:
        return
    words: list[str] = ctx.obj or []
    if json and print_:
        raise CommandLineError("choose one of --json and --print")
    if not (json or print_):
        known = ", ".join(sorted(app_commands()))
        near = get_close_matches(words[0], app_commands(), n=1) if words else []
        hint = f"; did you mean {near[0]!r}?" if near else "."
        said = f"no such command: {words[0]!r}{hint} " if words else ""
        raise CommandLineError(f"{said}To send a prompt, use -p or --json; commands: {known}")
    from cli.run.headless import Request, run

    request = Request(
        words=tuple(words),
        literal=bool(ctx.meta.get(LITERAL)),
        json=json,
        provider=provider,
        model=model,
        api_key=api_key,
        base_url=base_url,
        system_prompt=system_prompt,
        append_system_prompt=tuple(append_system_prompt or ()),
        reasoning=reasoning.value if reasoning else None,
        record=record,
        replay=replay,
        tools=frozenset() if no_tools else tools_from(tools),
        extensions=tuple(ext or ()),
        discover=not no_ext,
        extension_wait=ext_wait,
        strict_guards=strict_guards,
        stream_before_guards=stream_before_guards,
        cwd=cwd,
        max_steps=max_steps,
        timeout=timeout,
        session=not no_session,
        stats=stats,
        metrics=metrics,
        trust_project=trust_project,
        watch=watch,
    )
    sys.exit(run(request))


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
    from cli.report import make_report

    sys.exit(make_report(run, output))


register(app)


def main() -> None:
    """Runs the command line and exits. A wrong one gets a single line, as all other errors do."""
    try:
        status = app(prog_name="zot", standalone_mode=False)
    except typer.TyperException as error:
        if text := error.format_message():  # there is none when the help has been printed instead
            context = getattr(error, "ctx", None)
            command = context.command_path if context is not None else "zot"
            dash = "; a prompt that begins with a dash goes after --" if _is_about_a_flag_of_a_prompt(error) else ""
            print(f"zot: {text}{dash} (see {command} --help)", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
    except OSError as error:  # the help, to a reader that has left or a disk that is full
        from cli.exits import exit_with

        exit_with("", partial(_raise, error))
    sys.exit(status if isinstance(status, int) else 0)


def _is_about_a_flag_of_a_prompt(error: typer.TyperException) -> bool:
    context = getattr(error, "ctx", None)
    return hasattr(error, "option_name") and (context is None or context.parent is None)


def _raise(error: OSError) -> int:
    raise error


def app_commands() -> list[str]:
    groups = [group.name for group in app.registered_groups]
    return [str(name) for name in (*(command.name for command in app.registered_commands), *groups)]
