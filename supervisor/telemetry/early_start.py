"""Starts the process that exports before the modules of a run are imported: its own imports take as long, and both go
on side by side. Imports nothing of the run. The `Exporter` takes the process over."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from supervisor.process.started_process import StartedProcess

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exporter_main.py")
NAMES = (
    "HOME", "PYTHONPATH", "PYTHONUSERBASE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PATH", "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
)  # fmt: skip
"""Variables of the process beside `PREFIXES` and `PROXIES`: where Python and its packages are, and certificates. No
other one: not the key of a provider."""
PREFIXES = ("OTEL_", "SSL_")
PROXIES = "_proxy"

_early: list[StartedProcess] = []
"""The process that was started early, until it is taken over."""


def exporter_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of the process. To the standard an empty one is unset, but not to every part of the SDK. Pure."""
    return {
        name: value
        for name, value in environ.items()
        if (name in NAMES or name.startswith(PREFIXES) or name.lower().endswith(PROXIES))
        and (value.strip() or not name.startswith("OTEL_"))
    }


def exporter_command() -> list[str]:
    return [sys.executable, "-P", PROGRAM]


@contextmanager
def exporter_beside(environ: Mapping[str, str]) -> Iterator[None]:
    """Starts the process at the beginning of the block. If nobody has taken it over by the end of the block, since the
    run has not begun, it is killed."""
    _start(environ)
    try:
        yield
    finally:
        if (started := take_early()) is not None:
            started.drop()


def _start(environ: Mapping[str, str]) -> None:
    """Starts the process, unless the variables say that none is needed, or this program is alone in its cgroup: then it
    must have no child before it has passed on the limits of the kernel. Failures are left to the later start."""
    ways = [environ.get(f"OTEL_{signal}_EXPORTER", "").strip().lower() for signal in ("TRACES", "METRICS")]
    is_off = ways == ["none", "none"] or environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if is_off or _early or _is_alone():
        return
    opened: list[int] = []
    try:
        (child_in, to_child), (from_child, child_out) = _pipe(opened), _pipe(opened)
        errors, child_err = (-1, 2) if "console" in ways else _pipe(opened)
        process = subprocess.Popen(
            exporter_command(), cwd="/", env=exporter_environment(environ), stdin=child_in, stdout=child_out,
            stderr=child_err, start_new_session=True,
        )  # fmt: skip
    except OSError:
        for fd in opened:
            os.close(fd)
        return
    for fd in (child_in, child_out, child_err):
        if fd in opened:
            os.close(fd)
    _early.append(StartedProcess(process, to_child, from_child, errors))


def take_early() -> StartedProcess | None:
    """The process that was started early; None if there is none, or it has been taken."""
    return _early.pop() if _early else None


def _pipe(opened: list[int]) -> tuple[int, int]:
    ends = os.pipe()
    opened += ends
    return ends


def _is_alone() -> bool:
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            path = file.read().rpartition("0::")[2].strip()
        with open(f"/sys/fs/cgroup{path}/cgroup.procs", encoding="utf-8") as file:
            return len(file.read().split()) <= 1
    except OSError:
        return False
