"""`zot mcp test`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.choices import CommandLineError, time_limit, tool_arguments
from cli.columns import align_columns
from cli.duration import METAVAR
from cli.json_line import print_json
from cli.mcp.scope import OnlyScope, ServerName
from cli.number_format import bytes_text, count_text, elapsed
from cli.os_errors import UnableError, exit_with
from cli.parameters import Json
from cli.terminal import terminal_text
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cli.mcp.probe import ProbeCall, ServerProbe
    from supervisor.discovery.found_extension import FoundExtension

WIDTH = 13
DESCRIPTION = 60
"""Maximum length of a description in the list of tools, in characters."""


def register(app: typer.Typer) -> None:
    app.command("test")(mcp_test)


def mcp_test(
    name: ServerName,
    scope: OnlyScope = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            "--timeout", metavar=METAVAR, help="Wait at most DURATION until it is ready. Default: as its entry says."
        ),
    ] = None,
    call: Annotated[str | None, typer.Option("--call", metavar="TOOL", help="Also call this tool once.")] = None,
    args: Annotated[
        str | None, typer.Option("--args", metavar="JSON", help="Call the tool with these arguments. Default: {}.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Start an MCP server once, as a run would, say what it offers and what that costs, and stop it.

    It shows the version of the protocol, the time to get ready, the tools with about how many tokens each takes in a
    request to the model, the prompts, what is left out and why, and the last lines on stderr.

    A project's server that is not trusted is not started. A disabled server is started.

    Exit status: 0 it was ready, and the call succeeded; 1 it was not, or the call failed; 2 no server has that name, or
    usage; 130 interrupted.

    Examples:
        zot mcp test files                                      what it offers
        zot mcp test files --timeout 90s                        its first start downloads much
        zot mcp test files --call list_directory --args '{"path": "."}'   and one call
        zot mcp test files --json | jq '.tools[] | .tokens'     for a program
    """

    def run() -> int:
        from cli.mcp.probe import ProbeCall, probe
        from supervisor.home.config import load_config
        from supervisor.home.zot_home import zot_home
        from wire.exit_codes import Status

        wait_s = None if timeout is None else time_limit("--timeout", timeout)
        if args is not None and call is None:
            raise CommandLineError("--args are those of a call; add --call TOOL")
        wanted = None if call is None else ProbeCall(call, tool_arguments("--args", args or "{}"))
        home, project = zot_home(), Path.cwd()
        found = _find_startable(name, scope, project, home)
        seen = probe(found, load_config(home), home, str(project), wait_s=wait_s, call=wanted)
        if as_json:
            print_json(_record(found, seen, home))
        else:
            _print(found, seen, home)
        if seen.is_interrupted:
            return Status.INTERRUPTED.exit_code
        return 1 if seen.failure or _has_failed(seen.call) else 0

    exit_with("mcp test", run)


def _find_startable(name: str, scope: Any, project: Path, home: Path) -> FoundExtension:
    """The server as a run would start it. Raises `CommandLineError` and `UnableError`."""
    from cli.mcp.entries import distrust_reason, find_entries, read_entries

    entries = read_entries(project, home, os.environ)
    each = min(find_entries(name, entries, scope), key=lambda one: bool(one.trouble))
    if each.trouble:
        raise UnableError(f"{each.where}: {each.trouble}")
    if why := distrust_reason(each, home):
        raise UnableError(f"{each.name} is not trusted ({why}): zot ext trust {each.name}")
    assert each.found is not None
    return each.found


def _has_failed(call: ProbeCall | None) -> bool:
    return call is not None and (call.result is None or bool(call.result.is_error))


# --- output --------------------------------------------------------------------------------------------------------


def _print(found: FoundExtension, seen: ServerProbe, home: Path) -> None:
    lines = [f"{label:<{WIDTH}} {text}".rstrip() for label, text in _facts(found, seen, home)]
    if seen.tools:
        rows = [
            (f"  {tool.name}", f"{tool.tokens:,}", terminal_text(tool.description, DESCRIPTION)) for tool in seen.tools
        ]
        lines += ["", f"{counted(len(seen.tools), 'tool')}, about {count_text(seen.tokens)} tokens of each request:"]
        lines += [line.rstrip() for line in align_columns(rows, right=(1,))]
    if seen.commands:
        lines += ["", f"{counted(len(seen.commands), 'prompt')}:"]
        lines += [f"  /{each.name}  {terminal_text(each.description, DESCRIPTION)}".rstrip() for each in seen.commands]
    if seen.call is not None:
        lines += ["", *_call_lines(seen.call)]
    for title, texts in (("warnings", seen.warnings), ("its last lines on stderr", seen.stderr)):
        if texts:
            lines += ["", f"{title}:", *(f"  {terminal_text(text)}" for text in texts)]
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _facts(found: FoundExtension, seen: ServerProbe, home: Path) -> Iterator[tuple[str, str]]:
    name = found.manifest.name
    if seen.is_interrupted:
        state = "interrupted"
    elif seen.failure:
        state = f"failed: {terminal_text(seen.failure)}"
    else:
        state = f"ready in {elapsed(seen.ready_s or 0.0)}"
    yield terminal_text(name, 200), state
    if seen.spoken:
        yield "speaks", seen.spoken
    if seen.server:
        yield "server", terminal_text(f"{seen.server} {seen.version or ''}", 300)
    if seen.hello_s is not None:
        first = "" if seen.ready_s is None else f", its lists after {elapsed(seen.ready_s)}"
        stopped = "" if seen.stop_s is None else f", stopped in {elapsed(seen.stop_s)}"
        yield "times", f"said hello after {elapsed(seen.hello_s)}{first}{stopped}"
    if not seen.failure and not seen.is_interrupted:
        processes = counted(seen.processes, "process", "processes")
        yield "memory", f"{bytes_text(seen.rss_bytes)} in {processes}, CPU {seen.cpu_s:.2f} s"
    if seen.instructions:
        yield "instructions", terminal_text(seen.instructions, 200)
    yield "log", str(home / "logs" / f"ext-{name}.log")


def _call_lines(call: ProbeCall) -> Iterator[str]:
    took, tool = elapsed(call.seconds), terminal_text(call.tool, 200)
    if call.result is None:
        yield f"{tool} failed after {took}: {terminal_text(call.failure)}"
        return
    yield f"{tool} {'answered with an error' if call.result.is_error else 'answered'} in {took}:"
    for block in call.result.content or ():
        text = block.text if block.text is not None else f"[{block.mime_type or block.type}]"
        yield from (f"  {terminal_text(line)}" for line in text.splitlines() or [""])


def _record(found: FoundExtension, seen: ServerProbe, home: Path) -> dict[str, Any]:
    import msgspec

    call = seen.call
    return {
        "name": found.manifest.name,
        "ok": not seen.failure and not seen.is_interrupted and not _has_failed(call),
        "failure": seen.failure or None,
        "protocol": seen.spoken or None,
        "server": seen.server or None,
        "version": seen.version,
        "hello_s": _round(seen.hello_s),
        "ready_s": _round(seen.ready_s),
        "stop_s": _round(seen.stop_s),
        "rss_bytes": seen.rss_bytes,
        "processes": seen.processes,
        "cpu_s": seen.cpu_s,
        "definition_tokens": seen.tokens,
        "tools": [
            {"name": tool.name, "description": tool.description, "tokens": tool.tokens, "read_only": tool.read_only}
            for tool in seen.tools
        ],
        "commands": [{"name": each.name, "description": each.description} for each in seen.commands],
        "instructions": seen.instructions or None,
        "call": None
        if call is None
        else {
            "tool": call.tool,
            "seconds": _round(call.seconds),
            "failure": call.failure or None,
            "result": None if call.result is None else msgspec.to_builtins(call.result.content),
            "is_error": None if call.result is None else bool(call.result.is_error),
        },
        "warnings": seen.warnings,
        "stderr": seen.stderr,
        "log": str(home / "logs" / f"ext-{found.manifest.name}.log"),
    }


def _round(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
