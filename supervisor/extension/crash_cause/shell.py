"""Shells: sh, dash, bash, zsh, ksh."""

from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING

from supervisor.extension.crash_cause.crash import Crash, Frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SCRIPT = r"((?:\.{0,2}/)[^:]*|[^\s:\[]+)"
_BASH = rf"{_SCRIPT}: line (\d+): (?!warning: )(.+)"
_OTHER = rf"{_SCRIPT}(?:: |:|\[|:([a-z]+):)(\d+)\]?: (.+)"
_NO_LINE = (
    r"(?:\S*/)?(?:ba|da|z|k|a)?sh: (?:0: |line 0: )?"
    r"((?:cannot|can't) open .+|.+: (?:No such file or directory|Permission denied|Is a directory|cannot execute.*))"
)
_SOURCED = r"(\S*/\S+|\S+\.sh): (Syntax error.*|.+: .+)"
"""Of a file that another one reads with `.`, dash gives the line after the name of the other."""
_KNOWN = (
    r"(?i)(?:: (?:not found|inaccessible or not found|Permission denied|No such file(?: or directory)?)"
    r"|: parameter (?:not set|null)"
    r"|^(?:command not found|permission denied|no such file or directory|no matches found|bad pattern): "
    r"|(?:syntax|parse|arithmetic) error|bad substitution|unmatched|unterminated|cannot open|can't cd to|readonly"
    r"|division by zero|parameter not set|: (?:no such file or directory|not valid in this context)\b)"
)
_SIGNAL = r"\s*\d+ (?:Segmentation fault|Killed|Aborted|Terminated|Bus error|Illegal instruction|Floating point|Trace)"
_SHELLS = frozenset({"sh", "dash", "ash", "bash", "zsh", "ksh", "mksh", "busybox"})


def find(lines: Sequence[str]) -> Iterator[Crash]:
    last: Crash | None = None
    for at, line in enumerate(lines):
        crash = _message(line, at)
        if crash is None:
            continue
        if last is not None and last.at == at - 1:
            is_source = crash.error.startswith("`")
            is_rest = last.error.startswith("unexpected EOF") and crash.error.startswith("syntax error: unexpected end")
            if is_source or is_rest:
                last = Crash(last.error, last.frames, at)
                continue
        if last is not None:
            yield last
        last = crash
    if last is not None:
        yield last


def _message(line: str, at: int) -> Crash | None:
    if "sh: " in line and (found := re.match(_NO_LINE, line)):
        return Crash(found[1], (), at)
    if found := re.match(_BASH, line):
        script, number, error = found.groups()
    elif found := re.match(_OTHER, line):
        script, builtin, number, error = found.groups()
        error = f"{builtin}: {error}" if builtin else error
        if not (_is_script(script) or re.search(_KNOWN, error)):
            return None
        if sourced := re.match(_SOURCED, error):
            script, error = sourced.groups()
    else:
        return None
    frames = () if os.path.basename(script) in _SHELLS else (Frame(script, int(number)),)
    return Crash(error, frames, at, is_sure=not re.match(_SIGNAL, error))


def _is_script(name: str) -> bool:
    return name.endswith((".sh", ".bash", ".zsh", ".ksh")) or os.path.basename(name) in _SHELLS
