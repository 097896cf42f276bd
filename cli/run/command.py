"""The command line of a run, `zot [OPTIONS] PROMPT`, as typer sees it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from cli.choices import CommandLineError
from cli.help.root_group import LITERAL
from cli.help.unknown_command import missing_prompt
from cli.run import screen
from cli.run.flags import with_flags
from cli.run.request import RPC_ONLY, FlagError, OutputForm, output_from, request_from
from cli.version import VERSION
from wire.flags.run import RUN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"zot {VERSION}")
        raise typer.Exit


@with_flags(RUN)
def root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("-v", "--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
    **_flags: Any,
) -> None:
    if ctx.invoked_subcommand is not None:
        return
    given = ctx.params
    words: tuple[str, ...] = tuple(ctx.obj or ())
    try:
        output = output_from(given)
    except FlagError as error:
        raise CommandLineError(str(error)) from None
    drain_s: float | None = given["drain_timeout"]
    for name in RPC_ONLY:
        if given[name] is not None and not given["rpc"]:
            raise CommandLineError(f"--{name.replace('_', '-')} has no effect without --rpc")
    if output is None:
        if screen.is_wanted(given):
            _open_screen(given, words)
        if given["continue_"] or given["resume"] is not None or given["session"] is not None:
            raise CommandLineError('a session is resumed with a prompt: add -p or --json, as in zot -p -c "go on"')
        raise missing_prompt(ctx, words)
    try:
        request = request_from(given)
    except FlagError as error:
        raise CommandLineError(str(error)) from None
    if output.form is OutputForm.RPC:
        from cli.run.rpc import serve

        sys.exit(serve(request, words, drain_s=drain_s, no_stdin=given["no_stdin"], listen=given["listen"]))
    from cli.run.headless import run

    sys.exit(run(request, words, literal=bool(ctx.meta.get(LITERAL)), output=output, no_stdin=given["no_stdin"]))


def _open_screen(given: Mapping[str, Any], words: Sequence[str]) -> NoReturn:
    """Opens the screen and exits."""
    if given["image"]:
        raise CommandLineError("--image has no effect here: name the image in the prompt, as in @shot.png")
    try:
        request_from(given)
    except FlagError as error:
        raise CommandLineError(str(error)) from None
    sys.exit(screen.open_screen(given, words))
