"""`zot mcp add`."""

from __future__ import annotations

import shlex
import shutil
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.choices import CommandLineError
from cli.dialogue import say
from cli.duration import METAVAR
from cli.help.command_classes import HelpCommand
from cli.json_line import print_json
from cli.mcp.shared import Force, McpScope, Scope, file_of, seconds, shown
from cli.os_errors import exit_with
from cli.parameters import Json

if TYPE_CHECKING:
    from pathlib import Path

    from typer._click.core import Context

STDIO = "stdio"


class AddCommand(HelpCommand):
    """All words behind NAME and COMMAND are the server's own, also those that look like flags of ours."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        valued = {name for option in self.params if not getattr(option, "is_flag", True) for name in option.opts}
        return super().parse_args(ctx, with_end_of_flags(args, valued))


def with_end_of_flags(args: list[str], valued: set[str]) -> list[str]:
    """The words with a `--` before the second one that is neither a flag nor the value of one. Pure."""
    words, at = 0, 0
    while at < len(args) and args[at] != "--":
        if args[at].startswith("-") and args[at] != "-":
            at += 1 if args[at] not in valued else 2
            continue
        words += 1
        if words == 2:
            return [*args[:at], "--", *args[at:]]
        at += 1
    return args


def register(app: typer.Typer) -> None:
    app.command("add", cls=AddCommand)(mcp_add)


def mcp_add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the server here.")],
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND [ARG]...", help="The program that is started, and its arguments.")
    ],
    scope: Scope = McpScope.user,
    env: Annotated[
        list[str] | None,
        typer.Option(
            "-e",
            "--env",
            metavar="KEY=VALUE",
            help="A variable for the server; KEY alone: as it is in your environment.",
        ),
    ] = None,
    cwd: Annotated[
        str | None, typer.Option("--cwd", metavar="DIR", help="The folder that it runs in. Default: the project's.")
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar=METAVAR, help="The longest wait for the result of a call. Default: 60 s."),
    ] = None,
    startup_timeout: Annotated[
        str | None,
        typer.Option(
            "--startup-timeout",
            metavar=METAVAR,
            help="The longest wait for its first answer. Default: 30 s; npx, uvx: 60 s.",
        ),
    ] = None,
    include_tools: Annotated[
        str | None, typer.Option("--include-tools", metavar="A,B", help="Offer only these tools.")
    ] = None,
    exclude_tools: Annotated[
        str | None, typer.Option("--exclude-tools", metavar="A,B", help="Do not offer these tools.")
    ] = None,
    transport: Annotated[
        str,
        typer.Option(
            "-t", "--transport", metavar=STDIO, help="Only stdio is possible: zot starts a process.", show_default=False
        ),
    ] = STDIO,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write an MCP server into mcp.json of $ZOT_HOME, or with --scope project into .mcp.json here.

    It starts nothing; zot mcp test NAME does. All words behind COMMAND belong to the server, so flags of zot mcp add
    stand before COMMAND. Put -- before a COMMAND that begins with a dash. The rest of the file stays as it is.

    Do not write secrets into the file: -e TOKEN, without a value, writes ${TOKEN}, which is filled in from your
    environment at each start.

    Exit status: 0 added, 1 the name is taken, or the file has a fault, 2 usage.

    Examples:
        zot mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
        zot mcp add github -e GITHUB_TOKEN -- docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server
        zot mcp add --scope project db -e DB=./app.db -- uvx mcp-server-sqlite
        zot mcp add notes --timeout 5m --include-tools read,search ./notes-server --fast
    """

    def run() -> int:
        if transport != STDIO:
            raise CommandLineError(
                f"--transport {transport}: only {STDIO} servers can be run; a bridge makes one of it:"
                f" zot mcp add {shlex.quote(name)} -- npx -y mcp-remote URL"
            )
        program, *args = command
        fields: dict[str, Any] = {"command": program, "args": args}
        if env:
            fields["env"] = dict(map(_variable, env))
        if cwd is not None:
            fields["cwd"] = cwd
        if timeout is not None:
            fields["timeout"] = round(seconds("--timeout", timeout) * 1000)
        if startup_timeout is not None:
            fields["startup_timeout_sec"] = seconds("--startup-timeout", startup_timeout)
        for field, given in (("includeTools", include_tools), ("excludeTools", exclude_tools)):
            if given is not None:
                fields[field] = [tool.strip() for tool in given.split(",") if tool.strip()]
        return write_entry(name, fields, scope, force=force, as_json=as_json)

    exit_with("mcp add", run)


def write_entry(name: str, fields: dict[str, Any], scope: McpScope, *, force: bool, as_json: bool) -> int:
    """Writes the entry and says so, with advice about it. Returns the exit status."""
    from cli.mcp.file_edit import put

    path = file_of(scope)
    is_replaced = put(path, scope, name, fields, force=force)
    word = "replaced" if is_replaced else "added"
    if as_json:
        print_json({"action": word, "name": name, "scope": scope.value, "file": str(path)})
    else:
        say(f"{word} {shown(name, 200)} in {path}")
    for line in _advice(name, fields, scope, path):
        say(f"  {line}")
    return 0


def _advice(name: str, fields: dict[str, Any], scope: McpScope, path: Path) -> list[str]:
    from cli.mcp.reading.hiding import is_literal_secret
    from supervisor.home.config import load_config
    from supervisor.home.zot_home import zot_home
    from wire.settings.mcp_server import server_name

    called, config = server_name(name), load_config(zot_home())
    said = []
    if called != name:
        said.append(f"its name here is {shown(called, 200)}")
    for variable, value in (fields.get("env") or {}).items():
        if is_literal_secret(variable, str(value), config):
            said.append(
                f"{shown(variable, 200)} looks like a secret, and {path.name} has it now as it is: write"
                f" ${{{shown(variable, 200)}}} in its place, and keep the value in your environment"
            )
    program = str(fields.get("command", ""))
    if "/" not in program and "$" not in program and shutil.which(program) is None:
        said.append(f"{shown(program, 200)} is not on PATH; install it, or the server cannot be started")
    if scope is McpScope.project:
        said.append(f"runs start it once you trust it: zot ext trust {shlex.quote(called)}")
    said.append(f"try it: zot mcp test {shlex.quote(called)}")
    return said


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name:
        raise CommandLineError(f"--env {text}: write KEY=VALUE, or KEY alone for the value that it has at each start")
    return name, value if equals else f"${{{name}}}"
