"""`zot report`: reads a recording, writes its page, and says where the page is."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent.tools.files.user_file import replace_file
from agent.tools.outcome import ToolError
from cli.os_errors import discard_output
from cli.report.input.recorded_run import InputError
from cli.report.input.source import read_recording
from cli.report.page.document import is_report
from cli.report.run.page import render
from cli.version import VERSION
from wire.exit_codes import Status
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.batch.journal.shards import Prefer

STDIN = "/dev/stdin"
BATCH_FILES = ("batch.json", "journal.jsonl")
ASKED = "open it in a browser"
BATCH_PAGE = "report.html"
"""In the folder of the batch."""


def make_report(
    source: str,
    output: str | None,
    pages: int | None = None,
    *,
    more: Sequence[str] = (),
    prefer: Prefer | None = None,
    opens: bool = False,
) -> int:
    """Writes the page and returns the exit status: 0, 2 if the file or the name cannot be used, 1 if the page cannot be
    written, 130 if the reader of stdout has gone.

    `source` is a file, the id of a run, the folder of a batch, or `-` for stdin. `output` is a file, `-` for stdout, or
    None for the source's name with `.html`: beside a file, in the current folder for a run, and `report.html` in the
    folder of a batch. `pages` is the most tasks of a batch that get a page of their own; None for the usual number.
    `more` are folders that are read with `source` as one batch; `prefer` says whose outcome counts if they contradict
    each other. Says on stderr where the page is, and `opens` it in a browser if there is one.
    """
    if opens and output == "-":
        return _refuse_target("--open opens a file; leave -o - out, or name a file with -o", Status.USAGE)
    if source == "-":
        source = STDIN
    mode = 0o644
    try:
        if is_batch(source) or more:
            target = _batch_target([source, *more], output)
            mode = 0o600 if output is None else mode  # in RUNDIR all is for the user only
            page = _batch_page([source, *more], target, pages, mode, prefer)
        elif pages is not None:
            raise InputError("--pages needs the folder of a batch; RUN is no such folder")
        else:
            word, source = source, source if os.path.lexists(source) else _trace_of(source)
            target = _target(source, output, "" if source == word else f"{Path(source).stem}.html")
            page = render(read_recording(source), source_name=os.path.basename(source), version=VERSION)
    except InputError as error:
        return _refuse_target(str(error), Status.USAGE)
    except OSError as error:
        return _unwritten_error(f"{error.filename}: {error.strerror or error}")
    if target is None:
        return _print(page)
    try:
        replace_file(target, page.encode(), mode=mode)
    except ToolError as error:
        return _unwritten_error(str(error))
    print(f"{printable(target)}: {_opened_text(target) if opens else ASKED}", file=sys.stderr)  # noqa: T201
    return Status.OK.exit_code


def _opened_text(target: str) -> str:
    from cli.report.browser import open_in_browser

    reason = open_in_browser(target)
    return f"{ASKED} ({reason})" if reason else "opened in the browser"


def _trace_of(word: str) -> str:
    """The path of the trace of the run that `word` names; `word` itself if it looks like no id. Raises
    `InputError`."""
    from supervisor.home.safe_files import open_regular
    from supervisor.home.zot_home import zot_home
    from supervisor.traces.trace_reader import LAST, NoSuchRunError, find_trace

    if word != LAST and not word.replace("-", "").isdecimal():
        return word
    try:
        path = find_trace(zot_home(), word)
        os.close(open_regular(path))  # not the pipe or device of a stranger
        return str(path)
    except NoSuchRunError as error:
        raise InputError(f"{error}, and there is no such file") from None


def is_batch(path: str) -> bool:
    """Whether it is the folder of a batch."""
    return any(os.path.lexists(os.path.join(path, name)) for name in BATCH_FILES)


def _batch_page(sources: Sequence[str], target: str | None, pages: int | None, mode: int, prefer: Prefer | None) -> str:
    """The page of a batch. The pages of its tasks are written beside `target`. Raises `InputError`, `OSError`."""
    from cli.report.batch.pages import BatchPages
    from cli.report.batch.selection import PAGES

    batch = BatchPages(sources, VERSION, prefer)
    return batch.page() if target is None else batch.page_with_tasks(target, PAGES if pages is None else pages, mode)


def _batch_target(sources: Sequence[str], output: str | None) -> str | None:
    """As `_target`; the page must not take the place of anything that belongs to the batch."""
    from agent.batch.journal.folder import OWN_NAMES

    source, *more = sources
    for one in sources:
        if not is_batch(one):
            raise InputError(f"{printable(one)} is no folder of a batch: only batches are read together")
    if output is None and more:
        raise InputError("say where the page of several batches goes: -o FILE, or -o - for stdout")
    if output is None:
        target = os.path.join(source, BATCH_PAGE)
        if os.path.islink(target) or (os.path.exists(target) and not is_report(Path(target))):
            raise InputError(f"{printable(target)} is there already and is no report; choose another file with -o")
        return target
    for one in sources:
        inside = os.path.relpath(os.path.realpath(output), os.path.realpath(one)).split(os.sep)
        if output not in ("", "-") and inside[0] in OWN_NAMES:
            raise InputError(f"{printable(output)} belongs to the batch itself; choose another file with -o")
    if os.path.isdir(output):
        raise InputError(f"{printable(output)} is a folder; -o needs the name of a file, such as report.html")
    return _target(source, output)


def _target(source: str, output: str | None, default: str = "") -> str | None:
    """The file for the page; None for stdout. `default` is the file without -o, if not beside the source. Raises
    `InputError` if the file cannot be used: for example, without -o, if it exists and is not a report."""
    if output == "-":
        return None
    if output == "":
        raise InputError("-o needs the name of a file, or - for stdout")
    target = output if output is not None else default or _beside(source)
    if _is_same(source, target):
        raise InputError(f"{printable(target)} is the recording itself; choose another file with -o")
    if output is None and os.path.exists(target) and not is_report(Path(target)):
        raise InputError(f"{printable(target)} is there already and is no report; choose another file with -o")
    return target


def _beside(source: str) -> str:
    path = Path(source)
    if path.is_dir():
        raise InputError(
            f"{printable(source) or '.'} is a folder, and has no batch; name the file of --stats or --json in it"
        )
    if source == STDIN or (path.exists() and not path.is_file()):
        raise InputError(f"say where the page of {printable(source)} goes: -o FILE, or -o - for stdout")
    return str(path.with_suffix(".html"))


def _is_same(source: str, target: str) -> bool:
    try:
        return os.path.samefile(source, target)
    except OSError:
        return os.path.abspath(source) == os.path.abspath(target)


def _print(page: str) -> int:
    try:
        sys.stdout.buffer.write(page.encode())
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        return Status.INTERRUPTED.exit_code
    except OSError as error:
        return _refuse_target(f"stdout cannot be written: {error.strerror}", Status.ERROR)
    return Status.OK.exit_code


def _unwritten_error(why: str) -> int:
    return _refuse_target(f"the page cannot be written: {printable(why)}; choose another file with -o", Status.ERROR)


def _refuse_target(why: str, status: Status) -> int:
    print(f"zot report: {why}", file=sys.stderr)  # noqa: T201
    return status.exit_code
