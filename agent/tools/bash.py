"""The `bash` tool: reads its arguments and writes its result. Pure; `shell.command` runs the command."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import msgspec

from agent.tools import arguments
from agent.tools.outcome import ToolError
from agent.tools.shell import output_window

if TYPE_CHECKING:
    from pathlib import Path

    from agent.tools.shell.output_window import Tail

DEFAULT_TIMEOUT_S = 600
"""Seconds. zot has no default timeout: there a command that waits for input never ends."""
MAX_TIMEOUT_S = 7 * 24 * 3600
"""Maximum of a timeout in seconds; a longer one is shortened to this."""


class BashCall(msgspec.Struct, frozen=True):
    """The checked arguments of one call."""

    command: str
    timeout_s: int


class ShellExit(msgspec.Struct, frozen=True):
    """How a shell command ended."""

    returncode: int
    """As in `subprocess`: the exit status, or minus the number of the signal that ended the shell."""
    duration_s: float
    timed_out_after_s: int | None = None
    """The timeout in seconds if it ended the command, else None."""
    cancelled: bool = False

    @property
    def is_error(self) -> bool:
        return self.returncode != 0 or self.timed_out_after_s is not None or self.cancelled


def decode_call(args: arguments.Arguments) -> BashCall:
    """Read the arguments. A timeout of 0 or less is the default.

    Raises ToolError: `command is required`, or `invalid args: …`.
    """
    command, timeout = arguments.text(args, "command"), arguments.integer(args, "timeout")
    if not command:
        raise ToolError("command is required")
    if "\0" in command:
        raise ToolError("command must not contain a NUL character")
    return BashCall(command, min(timeout, MAX_TIMEOUT_S) if timeout > 0 else DEFAULT_TIMEOUT_S)


def result_text(command: str, tail: Tail, ended: ShellExit, log_path: Path | None = None) -> str:
    """The result in zot's form: command, output, the size of a cut, `[exit N]`, duration.

    If a timeout, a signal or a cancellation ended the command, a line before `[exit N]` says so; zot shows just
    `[exit -1]`. The result names `log_path` only if a part of the output is missing.
    """
    parts = [f"$ {command}\n"]
    if tail.text:
        parts += ["\n", tail.text, "" if tail.text.endswith("\n") else "\n"]
    if tail.dropped_bytes:
        parts.append(_truncation_line(tail))
    parts.append("\n")
    if reason := _early_end(ended):
        parts.append(f"{reason}\n")
    parts.append(f"[exit {max(ended.returncode, -1)}]")
    if tail.dropped_bytes and log_path:
        parts.append(f" (full output: {log_path})")
    parts.append(f"  Took {human_duration(ended.duration_s)}")
    return "".join(parts)


def human_duration(seconds: float) -> str:
    """`1.2s` below a minute, `3m4s` below an hour, else `1h2m`; parts of a unit are dropped."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes = int(seconds) // 60
    return f"{minutes}m{int(seconds) % 60}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60}m"


def _truncation_line(tail: Tail) -> str:
    cap = f"{output_window.MAX_LINES} lines" if tail.cut_by_lines else f"{output_window.MAX_BYTES} bytes"
    dropped = f"{tail.dropped_bytes} bytes" + (f" ({tail.dropped_lines} lines)" if tail.dropped_lines else "")
    return f"... [truncated at {cap}]; this is the end, the first {dropped} are not shown\n"


def _early_end(ended: ShellExit) -> str:
    reasons = []
    if ended.cancelled:
        reasons.append("cancelled")
    if ended.timed_out_after_s is not None:
        reasons.append(f"timed out after {ended.timed_out_after_s}s")
    if ended.returncode < 0:
        reasons.append(f"killed by {_signal_name(-ended.returncode)}")
    return ", ".join(reasons)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
