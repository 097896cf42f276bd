"""`zot mcp add`, `add-json` and `remove`: change the two files of MCP servers."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.choices import CommandLineError, time_limit
from cli.duration import METAVAR
from cli.help.command_classes import HelpCommand
from cli.json_line import print_json
from cli.mcp.scope import Force, McpScope, OnlyScope, Scope, ServerName, file_of
from cli.os_errors import exit_with
from cli.parameters import Json
from cli.terminal import say, terminal_text

if TYPE_CHECKING:
    from typer._click.core import Context

STDIO = "stdio"
STDIN = "-"
LONGEST = 1024 * 1024
"""Maximum length of an entry on stdin in bytes."""


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
    app.command("add-json")(mcp_add_json)
    app.command("remove")(mcp_remove)
    app.command("rm", hidden=True)(mcp_remove)


def mcp_add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The server's name, as this file has it.")],
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
            help="Give the server this variable; KEY alone takes the value from your environment.",
        ),
    ] = None,
    cwd: Annotated[
        str | None, typer.Option("--cwd", metavar="DIR", help="Run the server in this folder. Default: the project's.")
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar=METAVAR, help="Wait at most DURATION for a call's result. Default: 60 s."),
    ] = None,
    startup_timeout: Annotated[
        str | None,
        typer.Option(
            "--startup-timeout",
            metavar=METAVAR,
            help="Wait at most DURATION for its first answer. Default: 30 s; npx, uvx: 60 s.",
        ),
    ] = None,
    include_tools: Annotated[
        str | None, typer.Option("--include-tools", metavar="A,B", help="Offer only these tools.")
    ] = None,
    exclude_tools: Annotated[
        str | None, typer.Option("--exclude-tools", metavar="A,B", help="Do not offer these tools.")
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            "--limit",
            metavar="LIMIT=VALUE",
            help="Limit the server, as rss_mb=300; see zot ext limit --help. Give it several times for several limits.",
        ),
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

    It starts nothing; zot mcp test NAME does. All words after COMMAND belong to the server, so put flags of zot mcp add
    before COMMAND. Put -- before a COMMAND that begins with a dash. The rest of the file stays as it is.

    Do not write secrets into the file: -e TOKEN, without a value, writes ${TOKEN}, which is filled in from your
    environment at each start.

    Exit status: 0 added, 1 the name is taken, or the file has a fault, 2 usage.

    Examples:
        zot mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes
        zot mcp add github -e GITHUB_TOKEN -- docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server
        zot mcp add --scope project db -e DB=./app.db -- uvx mcp-server-sqlite
        zot mcp add notes --timeout 5m --include-tools read,search ./notes-server --fast
        zot mcp add index --limit rss_mb=300 --limit cpu_pct=50 ./index-server
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
            fields["timeout"] = round(time_limit("--timeout", timeout) * 1000)
        if startup_timeout is not None:
            fields["startup_timeout_sec"] = time_limit("--startup-timeout", startup_timeout)
        if limit:
            fields["limits"] = _limits(limit)
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
        say(f"{word} {terminal_text(name, 200)} in {path}")
    for line in _advice(name, fields, scope, path):
        say(f"  {line}")
    return 0


def _advice(name: str, fields: dict[str, Any], scope: McpScope, path: Path) -> list[str]:
    from cli.mcp.entries import is_literal_secret
    from supervisor.home.config import load_config
    from supervisor.home.zot_home import zot_home
    from wire.settings.mcp_server import server_name

    called, config = server_name(name), load_config(zot_home())
    said = []
    if called != name:
        said.append(f"its name here is {terminal_text(called, 200)}")
    for variable, value in (fields.get("env") or {}).items():
        if is_literal_secret(variable, str(value), config):
            said.append(
                f"{terminal_text(variable, 200)} looks like a secret, and {path.name} has it now as it is: write"
                f" ${{{terminal_text(variable, 200)}}} in its place, and keep the value in your environment"
            )
    program = str(fields.get("command", ""))
    if "/" not in program and "$" not in program and shutil.which(program) is None:
        said.append(f"{terminal_text(program, 200)} is not on PATH; install it, or the server cannot be started")
    if scope is McpScope.project:
        said.append(f"runs start it once you trust it: zot ext trust {shlex.quote(called)}")
    said.append(f"try it: zot mcp test {shlex.quote(called)}")
    return said


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name:
        raise CommandLineError(f"--env {text}: write KEY=VALUE, or KEY alone for the value that it has at each start")
    return name, value if equals else f"${{{name}}}"


def _limits(words: list[str]) -> dict[str, Any]:
    from wire.settings.limit_changes import DEFAULT, LimitError, parse_changes, written

    try:
        limits = parse_changes(words)
    except LimitError as error:
        raise CommandLineError(f"--limit: {error}") from None
    for name, value in limits.items():
        if value in (None, DEFAULT):
            raise CommandLineError(f"--limit {name}: leave it out, since a new entry has no limits")
    return {name: written(value) for name, value in limits.items()}


def mcp_add_json(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The server's name, as this file has it.")],
    entry: Annotated[str, typer.Argument(metavar="JSON", help="The entry, as other programs have it; - reads stdin.")],
    scope: Scope = McpScope.user,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write an MCP server from an entry in JSON, with any fields.

    Exit status: 0 added, 1 the name is taken, or the file has a fault, 2 usage.

    Examples:
        zot mcp add-json time '{"command": "uvx", "args": ["mcp-server-time"]}'
        jq '.mcpServers.github' ../other/.mcp.json | zot mcp add-json github -
    """
    exit_with("mcp add-json", lambda: write_entry(name, _fields(entry), scope, force=force, as_json=as_json))


def _fields(text: str) -> dict[str, Any]:
    import msgspec

    from wire.lenient_json import UNREADABLE, fault_of
    from wire.settings.mcp_file import plain_json

    where, data = "the entry", text.encode("utf-8", "replace")
    if text == STDIN:
        if sys.stdin is None:
            raise CommandLineError("-: stdin is closed")
        where, data = "stdin", sys.stdin.buffer.read(LONGEST + 1)
        if len(data) > LONGEST:
            raise CommandLineError(f"stdin: more than {LONGEST} bytes are no entry")
    plain = plain_json(data)
    try:
        fields = msgspec.json.decode(plain)
    except UNREADABLE as error:
        what, place = fault_of(plain, error)
        at = "" if place is None else f":{place.line}:{place.column}"
        raise CommandLineError(f"{where}{at}: this is no JSON: {what}") from None
    if not isinstance(fields, dict):
        raise CommandLineError(f'{where}: an entry is an object, {{"command": …}}')
    return fields


def mcp_remove(name: ServerName, scope: OnlyScope = None, as_json: Json = False) -> None:
    """Remove an MCP server from its file, also a faulty one. The rest of the file stays as it is.

    A host that runs the server keeps it until a reload, or until the host ends.

    Exit status: 0 removed, 1 failed, 2 no server has that name, both files have it, or usage.

    Examples:
        zot mcp remove github                    wherever it is
        zot mcp remove github --scope project    only the one of .mcp.json
    """

    def run() -> int:
        from cli.mcp.entries import find_entries, read_entries
        from cli.mcp.file_edit import take_out
        from supervisor.home.zot_home import zot_home

        entries = read_entries(Path.cwd(), zot_home(), os.environ)
        matching = find_entries(name, entries, scope)
        if len({each.scope for each in matching}) > 1:
            listed = ", ".join(f"{each.file} (--scope {each.scope.value})" for each in matching)
            raise CommandLineError(f"{shlex.quote(name)} is in both files: {listed}; say which")
        (each, *_) = matching
        take_out(each.file, each.scope, each.key)
        if as_json:
            print_json({"action": "removed", "name": each.name, "scope": each.scope.value, "file": str(each.file)})
        else:
            say(f"removed {terminal_text(each.name, 200)} from {each.file}")
        return 0

    exit_with("mcp remove", run)
