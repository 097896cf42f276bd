"""The lines of a run's trace that a `--stats` file has not, or has in another form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from cli.number_format import clock_text, duration_text
from supervisor.traces.sweep import is_being_written
from supervisor.traces.trace_reader import FALLS, FILE, decide_outcome
from wire.flags.batch import BATCH
from wire.flags.flag_words import told_flags
from wire.flags.host import HOST, SERVE
from wire.flags.run import RUN

if TYPE_CHECKING:
    from pathlib import Path

    from wire import stats
    from wire.flags.flag import Flag

FLAGS: dict[stats.HostKind, tuple[Flag, ...]] = {"run": RUN, "batch": BATCH, "host": HOST, "mcp": SERVE}
TITLES: dict[stats.HostKind, str] = {
    "run": "A run of zot", "batch": "A batch of zot", "host": "zot host", "mcp": "zot mcp serve"
}  # fmt: skip
USE_MISSING = (
    "Made from the trace of a run: it has what the extensions used at the end only, and no calls. For charts of use"
    " over time, record with `zot --stats FILE …` and use `zot report FILE`."
)
END_MISSING = (
    "The trace has no end, and so nothing is known of what the extensions used: its falls were written at once, its"
    " figures would have come at the end."
)
BATCH_MISSING = (
    "The trace of a batch has the falls of its runs, and no figures of what they used: `zot report FOLDER` makes a page"
    " of the folder of the batch."
)


def plain_mark(mark: stats.Mark) -> stats.Mark:
    """The mark as in a `--stats` file: a start is a point at the time when the extension was ready."""
    if mark.kind == "started" and mark.duration_ms is not None:
        what = "ready" if mark.extension else "the run could begin"
        return replace(mark, duration_ms=None, detail=f"{what} after {duration_text(mark.duration_ms)}")
    if mark.name == FILE:
        return replace(mark, name="", detail=f"kept in {mark.detail}")
    return replace(mark, name="") if mark.name in FALLS else mark


def trace_facts(
    header: stats.Trace, path: Path, *, has_ended: bool, agent: list[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """Labels and values of the facts in the first line; `agent` are those of its end, with its outcome."""
    goes_on = not has_ended and is_being_written(path)
    outcome = () if agent else (("outcome", decide_outcome(None, has_ended=has_ended, goes_on=goes_on)),)
    model = f"{header.model} ({header.provider})" if header.provider else header.model
    facts = [
        ("started", clock_text(header.time)),
        ("folder", header.cwd),
        ("batch", header.folder),
        *([] if agent else [("model", model)]),
        *agent,
        *outcome,
        ("flags", " ".join(told_flags(FLAGS[header.kind], header.flags))),
        ("zot", f"{header.version}, process {header.pid}"),
    ]
    return tuple((label, value) for label, value in facts if value)
