"""The command line of a run, `zot [OPTIONS] PROMPT`: its flags, each declared here and as a field of `RunRequest`."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated

import typer

from cli.choices import CommandLineError, OutputFormat
from cli.duration import METAVAR
from cli.help.completion import session_paths, sessions
from cli.root_group import LITERAL, RootGroup
from cli.run.flags import (
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
    of_model,
    of_tools,
    wait,
)
from cli.run.request import FlagError, Form, asked_from, request_from
from cli.version import VERSION
from wire.suggest import did_you_mean


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"zot {VERSION}")
        raise typer.Exit


_of_mode = partial(typer.Option, rich_help_panel="What to print")
_of_session = partial(typer.Option, rich_help_panel="The session")
_of_limits = partial(typer.Option, rich_help_panel="Limits")
_of_run = partial(typer.Option, rich_help_panel="The run")


def root(
    ctx: typer.Context,
    json: Annotated[bool, _of_mode("--json", help="Print events, one JSON object per line.")] = False,
    print_: Annotated[bool, _of_mode("-p", "--print", help="Print the final answer only.")] = False,
    rpc: Annotated[bool, _of_mode("--rpc", help="Serve a program on stdin and stdout, as zot rpc does.")] = False,
    output_format: Annotated[
        OutputFormat | None, _of_mode(help="text: the final answer, as -p. json: one JSON object at the end.")
    ] = None,
    output: Annotated[
        str | None, _of_mode("-o", "--output", help="Write the final answer to this file.", metavar="FILE")
    ] = None,
    output_schema: Annotated[
        str | None,
        _of_mode(
            help="The final answer must be JSON that fits this JSON Schema: a file, or {…} itself.", metavar="FILE"
        ),
    ] = None,
    summary: Annotated[
        str | None,
        _of_mode(help="Append what happened to this file, as Markdown: $GITHUB_STEP_SUMMARY.", metavar="FILE"),
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
        str | None, of_model(help="Write the exchanges with the model to a cassette.", metavar="FILE")
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
    watch: Annotated[bool, of_tools("--watch", help="Reload an extension when its files change.")] = False,
    strict_guards: StrictGuards = False,
    allow_asked: AllowAsked = False,
    stream_before_guards: Annotated[
        bool, of_tools("--stream-before-guards", help="Print text before guards of messages have seen it, as zot does.")
    ] = False,
    with_skills: WithSkills = False,
    no_skills: NoSkills = False,
    no_context_files: NoContextFiles = False,
    continue_: Annotated[
        bool, _of_session("-c", "--continue", help="Go on with the newest session of this folder.")
    ] = False,
    resume: Annotated[
        str | None,
        _of_session(
            "-r",
            "--resume",
            help="Go on with this session; without ID choose one.",
            metavar="[ID]",
            autocompletion=sessions,
        ),
    ] = None,
    session: Annotated[
        str | None,
        _of_session(help="Go on with the session in this file.", metavar="PATH", autocompletion=session_paths),
    ] = None,
    fork: Annotated[bool, _of_session("--fork", help="With -c, -r or --session: go on with a copy of it.")] = False,
    no_session: Annotated[
        bool, _of_session("--no-session", help="Keep no transcript under $ZOT_HOME/sessions.")
    ] = False,
    save_session: Annotated[bool, _of_session("--save-session", help="With --rpc: keep the transcript.")] = False,
    auto_compact: Annotated[
        bool,
        _of_session(
            "--auto-compact",
            help="Compact a conversation that has filled 85 % of the window. Default: on, but not with --replay.",
        ),
    ] = False,
    no_auto_compact: Annotated[bool, _of_session("--no-auto-compact", help="Never compact by itself.")] = False,
    images: Annotated[
        list[str] | None, _of_run("--image", help="Send this image with the prompt; repeatable.", metavar="FILE")
    ] = None,
    cwd: Annotated[str | None, _of_run("-C", "--cwd", help="The project's folder.", metavar="DIR")] = None,
    max_steps: Annotated[int | None, _of_limits(help="At most so many turns.", metavar="N", min=1)] = None,
    max_cost_usd: Annotated[
        float | None,
        _of_limits(
            help="Make no request any more once the model has cost so many dollars.", metavar="USD", parser=dollars
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        _of_limits(help="Make no request any more after so many tokens, input plus output.", metavar="N", min=1),
    ] = None,
    timeout: Annotated[
        float | None,
        _of_limits(
            help="End the run after so long: 90, 500ms, 5m, 1h30m. With --rpc each prompt.",
            metavar=METAVAR,
            parser=limit,
        ),
    ] = None,
    drain_timeout: Annotated[
        float | None,
        _of_run(
            help="With --rpc: at the end of stdin, let the prompt go on for so long. Default: 30s.",
            metavar=METAVAR,
            parser=wait,
        ),
    ] = None,
    no_stdin: Annotated[
        bool, _of_run("--no-stdin", help="Leave a pipe on stdin alone: the prompt is its words.")
    ] = False,
    stats: Annotated[
        str | None, _of_run(help="Write what each extension uses, and a timeline, for zot report.", metavar="FILE")
    ] = None,
    metrics: Annotated[
        str | None,
        _of_run(help="Keep a file of metrics up to date, for node_exporter's textfile collector.", metavar="FILE"),
    ] = None,
    openmetrics: Annotated[bool, _of_run("--openmetrics", help="Write --metrics as OpenMetrics text.")] = False,
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
