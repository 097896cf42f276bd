"""`zot mcp test`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.choices import CommandLineError, time_limit, tool_arguments
from cli.columns import aligned
from cli.duration import METAVAR
from cli.json_line import print_json
from cli.mcp.shared import OnlyScope, ServerName
from cli.number_format import bytes_text, count_text, elapsed
from cli.os_errors import UnableError, exit_with
from cli.parameters import Json
from cli.terminal import shown
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cli.mcp.probe import Call, Probe
    from supervisor.discovery.found_extension import FoundExtension

WIDTH = 13
DESCRIPTION = 60
"""Characters of a description in the list of tools."""


def register(app: typer.Typer) -> None:
    app.command("test")(mcp_test)


def mcp_test(
    name: ServerName,
    scope: OnlyScope = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            "--timeout", metavar=METAVAR, help="The longest wait until it is ready. Default: as its entry says."
        ),
    ] = None,
    call: Annotated[str | None, typer.Option("--call", metavar="TOOL", help="Call this tool once, too.")] = None,
    args: Annotated[
        str | None, typer.Option("--args", metavar="JSON", help="The arguments of the call. Default: {}.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Start an MCP server once, as a run would, say what it offers and what that costs, and stop it.

    It tells which version of the protocol the server speaks, how long it took, its tools, with about how many tokens of
    each request to the model each of them takes, its prompts, what is left out and why, and its last lines on stderr.

    A server of a project that is not trusted is not started. A disabled one is.

    Exit status: 0 it was ready, and the call succeeded; 1 it was not, or the call failed; 2 no server has that name, or
    usage; 130 interrupted.

    Examples:
        zot mcp test files                                      what it offers
        zot mcp test files --timeout 90s                        its first start downloads much
        zot mcp test files --call list_directory --args '{"path": "."}'   and one call
        zot mcp test files --json | jq '.tools[] | .tokens'     for a program
    """

    def run() -> int:
        from cli.mcp.probe import Call, probe
        from supervisor.home.config import load_config
        from supervisor.home.zot_home import zot_home
        from wire.exit_codes import Status

        wait_s = None if timeout is None else time_limit("--timeout", timeout)
        if args is not None and call is None:
            raise CommandLineError("--args are those of a call; add --call TOOL")
        wanted = None if call is None else Call(call, tool_arguments("--args", args or "{}"))
        home, project = zot_home(), Path.cwd()
        found = _startable(name, scope, project, home)
        seen = probe(found, load_config(home), home, str(project), wait_s=wait_s, call=wanted)
        if as_json:
            print_json(_record(found, seen, home))
        else:
            _print(found, seen, home)
        if seen.is_interrupted:
            return Status.INTERRUPTED.exit_code
        return 1 if seen.failure or _has_failed(seen.call) else 0

    exit_with("mcp test", run)


def _startable(name: str, scope: Any, project: Path, home: Path) -> FoundExtension:
    """The server as a run would start it. Raises `CommandLineError` and `UnableError`."""
    from cli.mcp.reading import distrust, named, read_entries

    entries = read_entries(project, home, os.environ)
    each = min(named(name, entries, scope), key=lambda one: bool(one.trouble))
    if each.trouble:
        raise UnableError(f"{each.where}: {each.trouble}")
    if why := distrust(each, home):
        raise UnableError(f"{each.name} is not trusted ({why}): zot ext trust {each.name}")
    assert each.found is not None
    return each.found


def _has_failed(call: Call | None) -> bool:
    return call is not None and (call.result is None or bool(call.result.is_error))


# --- output --------------------------------------------------------------------------------------------------------


def _print(found: FoundExtension, seen: Probe, home: Path) -> None:
    lines = [f"{label:<{WIDTH}} {text}".rstrip() for label, text in _facts(found, seen, home)]
    if seen.tools:
        rows = [(f"  {tool.name}", f"{tool.tokens:,}", shown(tool.description, DESCRIPTION)) for tool in seen.tools]
        lines += ["", f"{counted(len(seen.tools), 'tool')}, about {count_text(seen.tokens)} tokens of each request:"]
        lines += [line.rstrip() for line in aligned(rows, right=(1,))]
    if seen.commands:
        lines += ["", f"{counted(len(seen.commands), 'prompt')}:"]
        lines += [f"  /{each.name}  {shown(each.description, DESCRIPTION)}".rstrip() for each in seen.commands]
    if seen.call is not None:
        lines += ["", *_call_lines(seen.call)]
    for title, texts in (("warnings", seen.warnings), ("its last lines on stderr", seen.stderr)):
        if texts:
            lines += ["", f"{title}:", *(f"  {shown(text)}" for text in texts)]
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _facts(found: FoundExtension, seen: Probe, home: Path) -> Iterator[tuple[str, str]]:
    name = found.manifest.name
    if seen.is_interrupted:
        state = "interrupted"
    elif seen.failure:
        state = f"failed: {shown(seen.failure)}"
    else:
        state = f"ready in {elapsed(seen.ready_s or 0.0)}"
    yield shown(name, 200), state
    if seen.spoken:
        yield "speaks", seen.spoken
    if seen.server:
        yield "server", shown(f"{seen.server} {seen.version or ''}", 300)
    if seen.hello_s is not None:
        first = "" if seen.ready_s is None else f", its lists after {elapsed(seen.ready_s)}"
        stopped = "" if seen.stop_s is None else f", stopped in {elapsed(seen.stop_s)}"
        yield "times", f"said hello after {elapsed(seen.hello_s)}{first}{stopped}"
    if not seen.failure and not seen.is_interrupted:
        processes = counted(seen.processes, "process", "processes")
        yield "memory", f"{bytes_text(seen.rss_bytes)} in {processes}, CPU {seen.cpu_s:.2f} s"
    if seen.instructions:
        yield "instructions", shown(seen.instructions, 200)
    yield "log", str(home / "logs" / f"ext-{name}.log")


def _call_lines(call: Call) -> Iterator[str]:
    took = elapsed(call.seconds)
    if call.result is None:
        yield f"{shown(call.tool, 200)} failed after {took}: {shown(call.failure)}"
        return
    yield f"{shown(call.tool, 200)} {'answered with an error' if call.result.is_error else 'answered'} in {took}:"
    for block in call.result.content or ():
        text = block.text if block.text is not None else f"[{block.mime_type or block.type}]"
        yield from (f"  {shown(line)}" for line in text.splitlines() or [""])


def _record(found: FoundExtension, seen: Probe, home: Path) -> dict[str, Any]:
    import msgspec

    call = seen.call
    return {
        "name": found.manifest.name,
        "ok": not seen.failure and not seen.is_interrupted and not _has_failed(call),
        "failure": seen.failure or None,
        "protocol": seen.spoken or None,
        "server": seen.server or None,
        "version": seen.version,
        "hello_s": _rounded(seen.hello_s),
        "ready_s": _rounded(seen.ready_s),
        "stop_s": _rounded(seen.stop_s),
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
            "seconds": _rounded(call.seconds),
            "failure": call.failure or None,
            "result": None if call.result is None else msgspec.to_builtins(call.result.content),
            "is_error": None if call.result is None else bool(call.result.is_error),
        },
        "warnings": seen.warnings,
        "stderr": seen.stderr,
        "log": str(home / "logs" / f"ext-{found.manifest.name}.log"),
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
