"""The names of the files that runs leave under `$ZOT_HOME/runs`.

`ID.jsonl` is the trace of a run. `ID.EXTENSION.N.box.jsonl` is a black box of one of its extensions, and
`ID.EXTENSION.N.profile.json` a profile.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "runs"
TRACE = ".jsonl"
BLACK_BOX = ".box.jsonl"
PROFILE = ".profile.json"
SMALL_PID = 300
TIME_LENGTH = 15
"""Number of characters of an id that are its time: ids sort by them."""
ID = re.compile(r"\d{8}-\d{6}-\d{1,10}(?:-\d{1,3})?")
"""The id of a run."""
_FILE = re.compile(rf"(?P<id>{ID.pattern})(?:\.(?P<extension>.+)\.(?P<number>\d{{1,3}}))?(?P<kind>\.[a-z.]+)")


def runs_folder(home: Path) -> Path:
    return home / FOLDER


def new_id(now: float, pid: int) -> str:
    """The id of a run that starts at `now`, in seconds since the epoch. In a container each run may have the same small
    pid: milliseconds follow it there."""
    within = f"-{int(now * 1000) % 1000:03}" if 0 < pid < SMALL_PID else ""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{pid}{within}"


def id_of(name: str) -> str:
    """The id of the run to which the file of this name belongs; "" for another file."""
    found = _FILE.fullmatch(name)
    return "" if found is None or found["kind"] not in (TRACE, BLACK_BOX, PROFILE) else found["id"]


def extension_of(name: str, kind: str) -> str:
    """The extension to which a file of this kind belongs; "" for a file of another kind."""
    found = _FILE.fullmatch(name)
    return found["extension"] or "" if found is not None and found["kind"] == kind else ""


def newest_profile(home: Path, extension: str) -> str:
    """The path of the newest profile of an extension, of any run; "" without one. An empty file is none: it is being
    made, or its profiler was killed."""
    try:
        with os.scandir(runs_folder(home)) as entries:
            found = [(entry.stat(), entry.path) for entry in entries if _is_profile(entry.name, extension)]
    except OSError:
        return ""
    return max(((stat.st_mtime_ns, path) for stat, path in found if stat.st_size), default=(0, ""))[1]


def _is_profile(name: str, extension: str) -> bool:
    return name.endswith(PROFILE) and extension_of(name, PROFILE) == extension


def beside(trace: Path, extension: str, number: int, kind: str) -> Path:
    """The path of the black box or profile with this number, beside a trace."""
    return trace.with_name(f"{trace.name.removesuffix(TRACE)}.{extension}.{number}{kind}")
