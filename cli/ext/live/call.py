"""`zot ext call`: calls a tool of an extension through a running host."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from cli.choices import CommandLineError, time_limit, tool_arguments
from cli.hosts.find import connect, extensions_of, host_list, keep_only, known_name, survey
from cli.json_line import print_json
from supervisor.control.client import ControlError
from wire import control, frames
from wire.dialects.mcp.tools import public_name
from wire.exit_codes import Status
from wire.framing import DEFAULT_FRAME_LIMIT
from wire.suggestions import no_such
from wire.text import one_line, printable

if TYPE_CHECKING:
    from supervisor.control.client import ControlClient

STDIN = "-"
WAIT_S = 86_400.0
"""Seconds to wait without --timeout: the host gives up a call long before that, at the tool's own limit."""
CANCEL_S = 2.0
"""Seconds for the host to confirm that a call is cancelled."""


class TooLateError(Exception):
    """The tool has not answered within --timeout."""


def run_call(name: str, tool: str, text: str, pid: int | None, *, timeout: str | None, as_json: bool) -> int:
    """Prints the tool's result. Returns 0, 1 if the result is an error, 6 after --timeout, 130 after Ctrl-C. Raises
    `ControlError`, and `CommandLineError` for arguments that the tool does not take."""
    timeout_s = None if timeout is None else time_limit("--timeout", timeout)
    try:
        args = tool_arguments("stdin", _read_stdin()) if text == STDIN else tool_arguments("the arguments", text)
        with _host_with(name, pid) as client:
            tools = client.ask(control.Registered(client.next_id()), control.Registrations).tools
            name = known_name(name, {info.extension for info in tools})
            tool = _find_registered_name(name, tool, tools)
            result = _call(client, name, tool, args, timeout_s)
    except KeyboardInterrupt:
        return Status.INTERRUPTED.exit_code
    except TooLateError:
        waited = f"{timeout_s:g} s" if timeout_s is not None else "a day"
        print(f"zot ext call: no answer within {waited}; the call is cancelled", file=sys.stderr)  # noqa: T201
        return Status.TIMEOUT.exit_code
    if as_json:
        print_json({key: value for key, value in msgspec.to_builtins(result).items() if key not in ("type", "id")})
    else:
        _print(result)
    return Status.ERROR.exit_code if result.is_error else 0


# --- before the call -------------------------------------------------------------------------------------------


def _read_stdin() -> str:
    if sys.stdin is None:
        raise CommandLineError("-: stdin is closed")
    data = sys.stdin.buffer.read(DEFAULT_FRAME_LIMIT + 1)
    if len(data) > DEFAULT_FRAME_LIMIT:
        raise CommandLineError(f"stdin: more than {DEFAULT_FRAME_LIMIT} bytes; no frame can hold that")
    return data.decode("utf-8", "replace")


def _host_with(name: str, pid: int | None) -> ControlClient:
    """The `zot host` with this extension. Raises `ControlError`, and `CommandLineError` if several have it."""
    if pid is not None:
        return connect(pid)
    found = survey()
    known = extensions_of(found)
    name = known_name(name, known)
    having = [host for host in found if host.info is not None and name in host.info.extensions]
    hosts = [host for host in having if host.info is not None and host.info.kind != "run"]
    if (chosen := keep_only(hosts, found)) is not None:
        return chosen
    if hosts:
        raise CommandLineError(f"{len(hosts)} hosts have it; name one with --host: {host_list(hosts)}")
    if having:
        raise ControlError(
            f"{name} is only in {host_list(having)}, and a run's extensions serve its agent; start a zot host"
        )
    if not known:
        raise ControlError(f"no host runs {name}; start one: zot host, or zot host -e FOLDER")
    raise CommandLineError(no_such("extension in a running host", name, sorted(known)))


def _find_registered_name(name: str, tool: str, tools: tuple[control.ToolInfo, ...]) -> str:
    """The name that the host knows the tool by: its own, or for one of an MCP server also that which the server gives
    it. Raises `ControlError` and `CommandLineError`."""
    own = {info.name for info in tools if info.extension == name}
    for each in (tool, public_name(name, tool)):
        if each in own:
            return each
    other = next((info.extension for info in tools if info.name == tool), None)
    if other is not None:
        raise CommandLineError(f"{name} has no tool {tool!r}: it belongs to {other}; zot ext call {other} {tool}")
    if not own:
        raise ControlError(f"{name} offers no tool now; zot ext status {name} says how it is")
    raise CommandLineError(no_such(f"tool of {name}", tool, own))


# --- the call --------------------------------------------------------------------------------------------------


def _call(client: ControlClient, name: str, tool: str, args: bytes, timeout_s: float | None) -> frames.ToolResult:
    """Calls the tool. When the wait ends early, the call is cancelled. Raises `ControlError` and `TooLateError`, and
    `CommandLineError` if the host says that the arguments do not fit."""
    id_ = client.next_id()
    deadline = time.monotonic() + (WAIT_S if timeout_s is None else timeout_s)
    client.send(frames.ToolCall(id_, tool, Raw(args)))
    try:
        while (reply := client.next(deadline - time.monotonic())) is not None:
            if isinstance(reply, control.ErrorReply) and reply.id == id_:
                if (fault := reply.message.removeprefix(f"the tool {tool} failed (invalid args): ")) != reply.message:
                    raise CommandLineError(f"{name} {tool}: {fault}")
                raise ControlError(f"host {client.pid}: {reply.message}")
            if isinstance(reply, frames.ToolResult) and reply.id == id_:
                return reply
    except KeyboardInterrupt:
        _cancel(client, id_, "the user pressed Ctrl-C")
        raise
    _cancel(client, id_, "the caller's time is over")
    raise TooLateError


def _cancel(client: ControlClient, id_: str, reason: str) -> None:
    """Cancels the call, and waits until the host has done so."""
    try:
        client.send(frames.Cancel(id_, reason))
        client.next(CANCEL_S)
    except ControlError:
        pass  # with the host, the call has ended, too


def _print(result: frames.ToolResult) -> None:
    """Prints the texts on stdout; names other blocks."""
    is_terminal = os.isatty(1)
    for block in result.content or ():
        text = block.text if block.text is not None else _describe(block)
        shown = printable(text) if is_terminal else text
        sys.stdout.buffer.write((shown if shown.endswith("\n") else f"{shown}\n").encode("utf-8", "replace"))


def _describe(block: Any) -> str:
    kind = one_line(str(block.mime_type or block.type), 80)
    return f"[{kind}; with --json its data is printed]"
