"""`zot ext logs`: shows the log of an extension, or the logs of all, also when no host runs."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cli.choices import CommandLineError
from cli.json_line import json_line
from cli.logs.log_tail import rotation
from cli.logs.merged_logs import LineChoice, MergedLogs, names_of_logs
from cli.logs.timed_lines import TerminalText, as_record, since_ms, with_time
from supervisor.control.client import ControlError
from supervisor.home.zot_home import zot_home
from wire.exit_codes import Status
from wire.suggestions import no_such
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cli.logs.merged_logs import LogLine, OneLog

POLL_S = 0.2
LINES_SHOWN = 50
WIDEST_NAME = 24
"""Maximum width of the column of names; a longer name moves its line to the right."""


def run_logs(
    name: str | None,
    *,
    follow: bool,
    lines: int | None,
    timestamps: bool = False,
    since: str | None = None,
    run: int | None = None,
    as_json: bool = False,
) -> int:
    """Prints the log and returns the exit status. `name` is the name of the extension or of its folder; None means all
    logs. Raises `ControlError`, `CommandLineError` for a name without a log or a bad `since`, and `BrokenPipeError`."""
    since_when = None if since is None else since_ms(since)
    if lines is None and since is None and run is None:
        lines = LINES_SHOWN
    folder = zot_home() / "logs"
    names = names_of_logs(folder) if name is None else [_known_name(folder, name)]
    if not names:
        if not follow:
            raise ControlError(f"there are no logs of extensions in {folder}")
        _complain("there are no logs yet; waits for the first")
    printer = _Printer(names, with_names=name is None, as_json=as_json, timestamps=timestamps)
    faults = _Faults(is_for_all=name is None)
    logs = MergedLogs(
        folder,
        names,
        LineChoice(lines, since_when, run),
        has_times=name is None or timestamps or as_json,
        on_fault=faults.unreadable,
        on_lost=faults.lost,
        find=None if name is not None else lambda: names_of_logs(folder),
    )
    try:
        printer.put(logs.lines(follow=follow))
        while follow:
            added, is_any = logs.added()
            printer.put(added)
            if not is_any:
                _wait_for_a_while()
    except KeyboardInterrupt:
        return Status.INTERRUPTED.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ControlError(f"{folder} cannot be shown: {error.strerror}") from None
    finally:
        logs.close()
    return Status.ERROR.exit_code if faults.unread else Status.OK.exit_code


def _known_name(folder: Path, name: str) -> str:
    """The name of the extension whose log is meant. Raises `ControlError` and `CommandLineError`."""
    if os.sep not in name and not rotation(folder / f"ext-{name}.log") and (named := _find_by_folder(name)) is not None:
        name = named
    if os.sep not in name and rotation(folder / f"ext-{name}.log"):
        return name
    known = names_of_logs(folder)
    if not known:
        raise ControlError(f"there are no logs of extensions in {folder}")
    raise CommandLineError(no_such("log of an extension", name, [printable(each) for each in known]))


def _find_by_folder(name: str) -> str | None:
    from supervisor.discovery.discover import read_manifest
    from wire.manifest import ManifestError

    for parent in (Path.cwd() / ".zot" / "extensions", zot_home() / "extensions"):
        try:
            return read_manifest(parent / name).name
        except ManifestError:
            continue
    return None


class _Faults:
    """Says what cannot be shown: of all logs the others still are."""

    def __init__(self, *, is_for_all: bool) -> None:
        self.unread = 0
        self._is_for_all = is_for_all

    def unreadable(self, log: OneLog, error: OSError) -> None:
        text = f"{printable(os.fspath(log.path))} cannot be shown: {error.strerror}"
        if not self._is_for_all:
            raise ControlError(text) from None
        self.unread += 1
        _complain(text)

    def lost(self, log: OneLog) -> None:
        whose = f" of {printable(log.name)}" if self._is_for_all else ""
        _complain(f"some lines{whose} came too fast and are missing here")


def _complain(text: str) -> None:
    print(f"zot ext logs: {text}", file=sys.stderr)  # noqa: T201


def _wait_for_a_while() -> None:
    """Waits `POLL_S`. Raises `BrokenPipeError` at once when the reader of a pipe has gone."""
    gone = select.poll()
    gone.register(1, 0)
    if any(event & (select.POLLERR | select.POLLHUP) for _fd, event in gone.poll(POLL_S * 1000)):
        raise BrokenPipeError


class _Printer:
    """Writes line by line, without control characters: plain, with times, or as JSON objects. `with_names`: each line
    has the name of its extension before it, one of `names` or a later one. A pipe gets what a terminal gets: it often
    ends on one."""

    def __init__(self, names: Iterable[str], *, with_names: bool, as_json: bool, timestamps: bool) -> None:
        self._as_json = as_json
        self._timestamps = timestamps
        self._with_names = with_names
        self._width = min(WIDEST_NAME, max((len(printable(name)) for name in names), default=0))
        self._shown = TerminalText()

    def put(self, lines: Iterable[LogLine]) -> None:
        _put(b"".join(map(self._bytes_of, lines)))

    def _bytes_of(self, found: LogLine) -> bytes:
        line = found.line
        if self._as_json:
            return json_line({"extension": found.name, **as_record(line)})
        if not (self._with_names or self._timestamps):
            return self._shown.text(line.text).encode()
        text = with_time(line) if self._timestamps else TerminalText().text(line.text).rstrip("\n")
        name = f"{printable(found.name):<{self._width}}  " if self._with_names else ""
        return f"{name}{text}\n".encode("utf-8", "replace")  # a file's name may be any bytes


def _put(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(1, left) :]
