"""The command line of a run, `zot [OPTIONS] PROMPT`: its flags, each declared here and as a field of `RunRequest`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli.choices import CommandLineError, OutputFormat
from cli.duration import METAVAR
from cli.help.completion import session_paths, sessions
from cli.root_group import LITERAL, RootGroup
from cli.run.flags import (
    MODEL,
    AllowAsked,
    ApiKey,
    ApiKeyFile,
    AppendSystemPrompt,
    BaseUrl,
    Copilot,
    Extensions,
    ExtensionWait,
    McpConfigs,
    Model,
    NoContextFiles,
    NoExt,
    NoSkills,
    NoTools,
    Provider,
    ReasoningFlag,
    Replay,
    StrictGuards,
    SystemPrompt,
    Tools,
    TrustProject,
    WithSkills,
    dollars,
    limit,
    wait,
)
from cli.run.output.asked import Form, asked_from
from cli.run.request import FlagError, request_from
from cli.version import VERSION
from wire.suggest import did_you_mean


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"zot {VERSION}")
        raise typer.Exit


_MODE = "What to print"
_SESSION = "The session"
_TOOLS = "Tools and extensions"
_LIMITS = "Limits"
_RUN = "The run"


def root(
    ctx: typer.Context,
    json: Annotated[
        bool, typer.Option("--json", help="Print events, one JSON object per line.", rich_help_panel=_MODE)
    ] = False,
    print_: Annotated[
        bool, typer.Option("-p", "--print", help="Print the final answer only.", rich_help_panel=_MODE)
    ] = False,
    rpc: Annotated[
        bool,
        typer.Option("--rpc", help="Serve a program on stdin and stdout, as zot rpc does.", rich_help_panel=_MODE),
    ] = False,
    output_format: Annotated[
        OutputFormat | None,
        typer.Option(help="text: the final answer, as -p. json: one JSON object at the end.", rich_help_panel=_MODE),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help="Write the final answer to this file.", metavar="FILE", rich_help_panel=_MODE
        ),
    ] = None,
    output_schema: Annotated[
        str | None,
        typer.Option(
            help="The final answer must be JSON that fits this JSON Schema: a file, or {…} itself.",
            metavar="FILE",
            rich_help_panel=_MODE,
        ),
    ] = None,
    summary: Annotated[
        str | None,
        typer.Option(
            help="Append what happened to this file, as Markdown: $GITHUB_STEP_SUMMARY.",
            metavar="FILE",
            rich_help_panel=_MODE,
        ),
    ] = None,
    provider: Provider = None,
    model: Model = None,
    api_key: ApiKey = None,
    api_key_file: ApiKeyFile = None,
    base_url: BaseUrl = None,
    system_prompt: SystemPrompt = None,
    append_system_prompt: AppendSystemPrompt = None,
    reasoning: ReasoningFlag = None,
    record: Annotated[
        str | None,
        typer.Option(help="Write the exchanges with the model to a cassette.", metavar="FILE", rich_help_panel=MODEL),
    ] = None,
    replay: Replay = None,
    tools: Tools = None,
    no_tools: NoTools = False,
    extensions: Extensions = None,
    mcp_configs: McpConfigs = None,
    no_ext: NoExt = False,
    extension_wait: ExtensionWait = None,
    trust_project: TrustProject = False,
    copilot: Copilot = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Reload an extension when its files change.", rich_help_panel=_TOOLS)
    ] = False,
    strict_guards: StrictGuards = False,
    allow_asked: AllowAsked = False,
    stream_before_guards: Annotated[
        bool,
        typer.Option(
            "--stream-before-guards",
            help="Print text before guards of messages have seen it, as zot does.",
            rich_help_panel=_TOOLS,
        ),
    ] = False,
    with_skills: WithSkills = False,
    no_skills: NoSkills = False,
    no_context_files: NoContextFiles = False,
    continue_: Annotated[
        bool,
        typer.Option(
            "-c", "--continue", help="Go on with the newest session of this folder.", rich_help_panel=_SESSION
        ),
    ] = False,
    resume: Annotated[
        str | None,
        typer.Option(
            "-r",
            "--resume",
            help="Go on with this session; without ID choose one.",
            metavar="[ID]",
            autocompletion=sessions,
            rich_help_panel=_SESSION,
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            help="Go on with the session in this file.",
            metavar="PATH",
            autocompletion=session_paths,
            rich_help_panel=_SESSION,
        ),
    ] = None,
    fork: Annotated[
        bool,
        typer.Option("--fork", help="With -c, -r or --session: go on with a copy of it.", rich_help_panel=_SESSION),
    ] = False,
    no_session: Annotated[
        bool,
        typer.Option("--no-session", help="Keep no transcript under $ZOT_HOME/sessions.", rich_help_panel=_SESSION),
    ] = False,
    save_session: Annotated[
        bool, typer.Option("--save-session", help="With --rpc: keep the transcript.", rich_help_panel=_SESSION)
    ] = False,
    auto_compact: Annotated[
        bool,
        typer.Option(
            "--auto-compact",
            help="Compact a conversation that has filled 85 % of the window. Default: on, but not with --replay.",
            rich_help_panel=_SESSION,
        ),
    ] = False,
    no_auto_compact: Annotated[
        bool, typer.Option("--no-auto-compact", help="Never compact by itself.", rich_help_panel=_SESSION)
    ] = False,
    images: Annotated[
        list[str] | None,
        typer.Option(
            "--image", help="Send this image with the prompt; repeatable.", metavar="FILE", rich_help_panel=_RUN
        ),
    ] = None,
    cwd: Annotated[
        str | None, typer.Option("-C", "--cwd", help="The project's folder.", metavar="DIR", rich_help_panel=_RUN)
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(help="At most so many turns.", metavar="N", min=1, rich_help_panel=_LIMITS)
    ] = None,
    max_cost_usd: Annotated[
        float | None,
        typer.Option(
            help="Make no request any more once the model has cost so many dollars.",
            metavar="USD",
            parser=dollars,
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            help="Make no request any more after so many tokens, input plus output.",
            metavar="N",
            min=1,
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            help="End the run after so long: 90, 500ms, 5m, 1h30m. With --rpc each prompt.",
            metavar=METAVAR,
            parser=limit,
            rich_help_panel=_LIMITS,
        ),
    ] = None,
    drain_timeout: Annotated[
        float | None,
        typer.Option(
            help="With --rpc: at the end of stdin, let the prompt go on for so long. Default: 30s.",
            metavar=METAVAR,
            parser=wait,
            rich_help_panel=_RUN,
        ),
    ] = None,
    no_stdin: Annotated[
        bool,
        typer.Option("--no-stdin", help="Leave a pipe on stdin alone: the prompt is its words.", rich_help_panel=_RUN),
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
            help="Keep a file of metrics up to date, for node_exporter's textfile collector.",
            metavar="FILE",
            rich_help_panel=_RUN,
        ),
    ] = None,
    openmetrics: Annotated[
        bool, typer.Option("--openmetrics", help="Write --metrics as OpenMetrics text.", rich_help_panel=_RUN)
    ] = False,
    version: Annotated[
        bool, typer.Option("-v", "--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    if ctx.invoked_subcommand is not None:
        return
    words: tuple[str, ...] = tuple(ctx.obj or ())
    try:
        asked = asked_from(ctx.params)
    except FlagError as error:
        raise CommandLineError(str(error)) from None
    if drain_timeout is not None and not rpc:
        raise CommandLineError("--drain-timeout has no effect without --rpc")
    if asked is None:
        assert isinstance(ctx.command, RootGroup)
        known = sorted(ctx.command.list_commands(ctx))
        hint = did_you_mean(words[0], set(known) - {"help"}) if words else ""
        if continue_ or resume is not None or session is not None:
            raise CommandLineError('a session goes on with a prompt: add -p or --json, as in zot -p -c "go on"')
        said = f"no such command: {words[0]!r}{'; ' + hint if hint else '.'} " if words else ""
        raise CommandLineError(f"{said}To send a prompt, use -p or --json; commands: {', '.join(known)}")
    try:
        request = request_from(ctx.params)
    except FlagError as error:
        raise CommandLineError(str(error)) from None
    if asked.form is Form.RPC:
        from cli.run.rpc import serve

        sys.exit(serve(request, words, drain_s=drain_timeout, no_stdin=no_stdin))
    from cli.run.headless import run

    sys.exit(run(request, words, literal=bool(ctx.meta.get(LITERAL)), asked=asked, no_stdin=no_stdin))
