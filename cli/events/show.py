"""Prints the events of hosts, each line at once."""

from __future__ import annotations

import select
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

import msgspec

from cli.choices import CommandLineError
from cli.hosts.find import NONE_RUNS
from cli.json_line import print_json
from cli.logs.timed_lines import local_time, since_ms
from cli.os_errors import UnableError, discard_output, flush
from cli.terminal import complain, terminal_text
from supervisor.fleet.incident_stream import IncidentStream
from supervisor.fleet.past_incidents import Traces
from supervisor.home.runtime_dir import runtime_dirs
from supervisor.home.zot_home import zot_home
from supervisor.loop.loop import Loop, stop_signals
from wire.exit_codes import Status
from wire.suggestions import no_such

if TYPE_CHECKING:
    from wire.traces.incident import Incident

READER_S = 0.5
"""Seconds between two looks whether the reader of a pipe has gone."""
TEXT_LENGTH = 1000


def show_events(pid: int | None, *, follow: bool, as_json: bool, since: str | None, extension: str | None) -> int:
    """Prints the events; returns the exit status. Raises `CommandLineError`, `UnableError` and `BrokenPipeError`."""
    earliest = None if since is None else since_ms(since) / 1000

    def tell(incident: Incident) -> None:
        if extension in (None, incident.extension):
            _print(incident, as_json=as_json)

    loop = Loop()
    traces = Traces(zot_home(), lambda line: complain("events", line))
    stream = IncidentStream(
        loop, runtime_dirs(), traces, tell, lambda line: complain("events", line), since=earliest, only=pid
    )
    try:
        return _follow(loop, stream, pid, extension) if follow else _show(stream, pid, extension)
    finally:
        stream.close()
        loop.close()


def _show(stream: IncidentStream, pid: int | None, extension: str | None) -> int:
    if not stream.begin():
        _none(pid, NONE_RUNS)
    elif extension is not None and extension not in stream.extensions:
        raise CommandLineError(no_such("extension", extension, stream.extensions))
    return 0


def _follow(loop: Loop, stream: IncidentStream, pid: int | None, extension: str | None) -> int:
    before = {number: signal.signal(number, _interrupt) for number in stop_signals()}
    try:
        if not stream.begin():
            _none(pid, "no host is running yet")
        elif extension is not None and extension not in stream.running:
            where = "no host has" if pid is None else f"host {pid} does not have"
            complain("events", f"{where} {terminal_text(extension, 200)} now; waits for it")
        stream.follow()
        _watch_reader(loop)
        loop.run_until(lambda: stream.has_ended)
    except KeyboardInterrupt:
        discard_output()  # a line that nobody reads would hold up the exit
        return Status.INTERRUPTED.exit_code
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def _interrupt(_number: int, _frame: object) -> NoReturn:
    """Unlike a callback of the loop it also ends a write to a pipe that nobody reads."""
    raise KeyboardInterrupt


def _none(pid: int | None, text: str) -> None:
    """Tells that no host runs, with this text. Raises `UnableError` if one was named."""
    if pid is not None:
        raise UnableError(f"there is no host {pid}; zot ps lists those that run")
    complain("events", text)


def _watch_reader(loop: Loop) -> None:
    """Raises `BrokenPipeError` from the loop soon after the reader of stdout has gone, also if nothing happens."""
    gone = select.poll()
    gone.register(1, 0)

    def look() -> None:
        if any(event & (select.POLLERR | select.POLLHUP) for _fd, event in gone.poll(0)):
            raise BrokenPipeError
        loop.call_later(READER_S, look)

    look()


def _print(incident: Incident, *, as_json: bool) -> None:
    if as_json:
        print_json(msgspec.structs.asdict(incident))
        return
    sys.stdout.write(f"{_line(incident)}\n")
    flush()


def _line(incident: Incident) -> str:
    moment = local_time(int(incident.time * 1000))
    who = f"{terminal_text(incident.extension, 200)}: " if incident.extension else ""
    text = f"{who}{terminal_text(incident.text, TEXT_LENGTH)}".rstrip().removesuffix(":")
    return f"{moment} {incident.pid:<7} {terminal_text(incident.host, 20):<5} {incident.event:<12} {text}".rstrip()
