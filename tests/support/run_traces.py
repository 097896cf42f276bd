"""Makes traces of runs as the runs would have written them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from supervisor.traces.places import TRACE, new_id, runs_folder
from supervisor.traces.trace_file import MARKS, trace_header
from tests.support.recorded_stats import extension_stats, sample
from wire.stats import Mark, Run, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from wire.stats import ExtensionStats, StatsLine, Trace

BEGAN = 1_795_892_400.0
"""2026-11-28 19:00 UTC."""
GONE = 2**22 - 7
"""The pid of no process here."""


def header(at: float = BEGAN, pid: int = GONE, **given: Any) -> Trace:
    """The first line of the trace of a run that began `at`."""
    plain: dict[str, Any] = {"session": "c1508b18-f0cc", "provider": "replay", "model": "claude-sonnet-5-5"}
    plain |= {"flags": {"replay": "run.jsonl", "extensions": ["crash", "guard"]}} | given
    kind, cwd, flags = plain.pop("kind", "run"), plain.pop("cwd", "/home/ada/project"), plain.pop("flags")
    return replace(trace_header(kind, "0.1.0", cwd, flags, **plain), id=new_id(at, pid), time=at, pid=pid)


def fall(at: float, extension: str, kind: str = "crashed", cause: str = "exit 3") -> Mark:
    detail = f"{kind.replace('_', ' ')}: {cause}"
    return Mark(at, MARKS[kind], kind, extension, None, detail)  # type: ignore[arg-type]


def kept(at: float, extension: str, file: Path) -> Mark:
    """Names a file beside the trace."""
    return Mark(at, "warning", "file", extension, None, file.name)


def started(at: float, extension: str = "", duration_ms: float = 120.0) -> Mark:
    return Mark(at, "started", "", extension, duration_ms, "")


def end(at: float, status: str = "ok", exit_code: int = 0, reason: str = "") -> Run:
    return Run(
        at, "c1508b18-f0cc", "replay", "claude-sonnet-5-5", 2, 1200, 340, 0, 0, 0.0123, status, exit_code, reason
    )


def figures(at: float, extensions: Mapping[str, ExtensionStats] | None = None, began: float = BEGAN) -> StatsLine:
    """The last line of a trace."""
    known = {"crash": extension_stats(), "guard": extension_stats()} if extensions is None else dict(extensions)
    return sample(at - began, known, clock=began)


def text(*lines: StatsLine) -> bytes:
    return b"".join(encode(line) for line in lines)


def write_trace(home: Path, first: Trace, lines: Iterable[StatsLine] = ()) -> Path:
    """The trace of a run in `$ZOT_HOME/runs`. Returns its path."""
    folder = runs_folder(home)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{first.id}{TRACE}"
    path.write_bytes(text(first, *lines))
    return path


def write_run(home: Path, at: float = BEGAN, pid: int = GONE, status: str = "ok", **given: Any) -> Path:
    """A run of 2 s in which the extension `crash` fell twice."""
    marks = [started(at + 0.1, "guard", 80.0), started(at + 0.1), fall(at + 0.5, "crash"), fall(at + 1, "crash")]
    last = end(at + 2, status, 0 if status == "ok" else 1)
    return write_trace(home, header(at, pid, **given), [*marks, last, figures(at + 2, began=at)])
