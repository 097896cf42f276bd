"""systemd's own reader of units, which works without a running systemd."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = shutil.which("systemd-analyze")
ESCAPED = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)
WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|([^ ]+)')
HOST_FLAGS = {
    "ext": (), "mcp_config": (), "no_ext": True, "cwd": None, "trust_project": False, "watch": False,
    "strict_guards": False, "allow_asked": False, "profile_on_stall": False, "stats": None, "stats_interval": None,
    "metrics": None, "openmetrics": False, "otel": False, "no_trace": False, "share": (), "log_format": "console",
    "log_level": "info",
}  # fmt: skip
"""The flags of a host without extensions, as the installer takes them."""
LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def need_systemd_analyze() -> None:
    if PROGRAM is None:
        pytest.skip("no systemd-analyze here")


def verify(unit: Path, *, is_of_user: bool) -> tuple[int, str]:
    """The status of `systemd-analyze verify`, and its complaints about this unit: one a line."""
    status, said = _run(unit, is_of_user=is_of_user, level="warning")
    return status, "\n".join(line for line in said.splitlines() if unit.name in line)


def read(unit: Path, *, is_of_user: bool) -> tuple[list[str], dict[str, str]]:
    """The words of `ExecStart` and the variables of `Environment` as systemd reads them. Bytes that are no UTF-8 are
    lone surrogates."""
    said = _run(unit, is_of_user=is_of_user, level="debug")[1]
    (mine,) = re.findall(rf"-> Unit {re.escape(unit.name)}:\n((?:\t\t.*\n)+)", said)
    start = re.search(r"-> ExecStart:\n\s*Command Line: (.*)\n", mine)
    assert start is not None, said
    words = [_unescaped(quoted or plain) for quoted, plain in WORD.findall(start[1])]
    found = re.findall(r"^\t\tEnvironment: (\w+)=(.*)$", mine, re.MULTILINE)
    return words, dict(found)


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code, 8)) if len(code) == 3 else LETTERS.get(code, code)

    return ESCAPED.sub(one, text.encode().decode("latin-1")).encode("latin-1").decode("utf-8", "surrogateescape")


def _run(unit: Path, *, is_of_user: bool, level: str) -> tuple[int, str]:
    assert PROGRAM is not None
    runtime = unit.parent / "runtime"
    runtime.mkdir(exist_ok=True)
    env = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "SYSTEMD_LOG_LEVEL": level, "LC_ALL": "C"}
    argv = [PROGRAM, *(["--user"] if is_of_user else []), "verify", str(unit)]
    done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape")
