"""`zot ext logs`: shows what an extension has written to its standard error. Needs no running host."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

import msgspec

from cli.choices import CommandLineError
from cli.ext.live.log_tail import Follower, last_lines, rotation
from supervisor.control.client import HostError
from supervisor.home.zot_home import zot_home
from wire.exit_codes import Status
from wire.suggest import no_such
from wire.text import printable

POLL_S = 0.2
LONGEST_PARTIAL = 64 * 1024


def run_logs(name: str, *, follow: bool, lines: int, as_json: bool = False) -> int:
    """Prints the log and returns the exit status. `name` is the name of the extension or of its folder. Raises
    `HostError`, `CommandLineError` for a name without a log, and `BrokenPipeError`."""
    folder = zot_home() / "logs"
    path = folder / f"ext-{name}.log"
    if os.sep not in name and not rotation(path) and (named := _named_by_its_folder(name)) is not None:
        name, path = named, folder / f"ext-{named}.log"
    if os.sep in name or not rotation(path):
        known = sorted(file.name.removeprefix("ext-").removesuffix(".log") for file in folder.glob("ext-*.log"))
        if not known:
            raise HostError(f"there are no logs of extensions in {folder}")
        raise CommandLineError(no_such("log of an extension", name, known))
    try:
        return _show(path, _Printer(name if as_json else None), follow=follow, lines=lines)
    except KeyboardInterrupt:
        return Status.INTERRUPTED.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        raise HostError(f"{path} cannot be shown: {error.strerror}") from None


def _named_by_its_folder(name: str) -> str | None:
    from supervisor.discovery.discover import read_manifest
    from wire.manifest import ManifestError

    for parent in (Path.cwd() / ".zot" / "extensions", zot_home() / "extensions"):
        try:
            return read_manifest(parent / name).name
        except ManifestError:
            continue
    return None


def _show(path: Path, printer: _Printer, *, follow: bool, lines: int) -> int:
    if not follow:
        printer.write(last_lines(path, lines))
        printer.flush()
        return 0
    follower = Follower(path)
    try:
        printer.write(last_lines(path, lines, follower.position))
        while True:
            lost = follower.lost
            if data := follower.read():
                printer.write(data)
            else:
                printer.flush()
                _wait_for_a_while()
            if follower.lost > lost:
                print("zot ext logs: some lines came too fast and are missing here", file=sys.stderr)  # noqa: T201
    finally:
        follower.close()


def _wait_for_a_while() -> None:
    """Waits `POLL_S`. Raises `BrokenPipeError` at once when the reader of a pipe has gone."""
    gone = select.poll()
    gone.register(1, 0)
    if any(event & (select.POLLERR | select.POLLHUP) for _fd, event in gone.poll(POLL_S * 1000)):
        raise BrokenPipeError


class _Printer:
    """Writes whole lines without control characters to a terminal, and the raw bytes to any other stdout. With a name
    it writes each line as a JSON object."""

    def __init__(self, name: str | None) -> None:
        self._name = name
        self._is_terminal = os.isatty(1)
        self._partial = b""

    def write(self, data: bytes) -> None:
        if not self._is_terminal and self._name is None:
            _put(data)
            return
        whole, end, self._partial = (self._partial + data).rpartition(b"\n")
        if end or len(self._partial) > LONGEST_PARTIAL:
            self._put_lines(whole + end)
        if len(self._partial) > LONGEST_PARTIAL:
            self.flush()

    def flush(self) -> None:
        """Writes a line that has no end yet. To be called when no more bytes come at the moment."""
        partial, self._partial = self._partial, b""
        self._put_lines(partial)

    def _put_lines(self, data: bytes) -> None:
        if self._name is None:
            _put(_harmless(data))
            return
        for line in data.splitlines():
            record = {"extension": self._name, "line": line.decode("utf-8", "replace")}
            _put(msgspec.json.encode(record) + b"\n")


def _harmless(data: bytes) -> bytes:
    return printable(data.decode("utf-8", "replace")).encode()


def _put(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(1, left) :]
