"""`zot ext profile`: profiles a process of a running extension, from outside."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

import msgspec

from cli import number_format
from cli.choices import CommandLineError
from cli.hosts.find import host_of
from cli.json_line import print_json
from cli.os_errors import UnableError
from supervisor.home.zot_home import zot_home
from supervisor.profile.errors import ProfileError
from supervisor.profile.place import Place
from supervisor.profile.profiler import make, order_for
from supervisor.traces.places import new_id, runs_folder
from wire import control
from wire.suggestions import no_such
from wire.text import one_line

if TYPE_CHECKING:
    from supervisor.profile.choice import Candidate
    from supervisor.profile.outcome import HotSpot, Profile
    from wire.stats import ExtensionStats


def run_profile(name: str, pid: int | None, *, seconds: int, output: str | None, as_json: bool) -> int:
    """Prints the hot spots; returns the exit status. Raises `UnableError` if the extension cannot be profiled, besides
    `ControlError`, `CommandLineError` and `OSError`."""
    if output is not None and output.strip() in ("", "-"):
        raise CommandLineError("--output: give it the name of a file; the functions are printed anyway")
    with host_of(name, pid) as client:
        info = client.ask(control.Info(client.next_id()), control.HostInfoReply)
        found = client.ask(control.GetStats(client.next_id()), control.StatsReply).stats.extensions
    if (stats := found.get(name)) is None:
        raise CommandLineError(no_such("extension", name, found))
    if why := reason_against(stats, name, info.pid):
        raise UnableError(f"{name} {why}")
    start = runs_folder(zot_home()) / f"{new_id(info.started, info.pid)}.{name}."
    place = Place(path=os.path.abspath(output)) if output else Place(start=str(start))
    try:
        profile = make(order_for(stats.pids, seconds, place), lambda chosen: _tell_begin(chosen, seconds))
    except ProfileError as error:
        raise UnableError(f"{name}: {error}") from None
    if as_json:
        print_json({"host": info.pid, "name": name, **msgspec.to_builtins(profile)})
    else:
        print("\n".join(lines(name, profile)))  # noqa: T201
    if profile.warning:
        print(f"zot ext profile: {profile.warning}", file=sys.stderr)  # noqa: T201
    return 0


def reason_against(stats: ExtensionStats, name: str, host: int) -> str:
    """Why an extension of this host has no process that can be profiled now, as the rest of a sentence; "" if it has
    one."""
    if stats.in_client:
        return "is a part of the program that runs zot, and has no process of its own: profile that program"
    if stats.hosted is not None:
        return f"is run by host {stats.hosted.pid}: zot ext profile {shlex.quote(name)} --host {stats.hosted.pid}"
    if stats.pids:
        return ""
    why = f": {one_line(stats.failure, 300)}" if stats.failure else ""
    then = "; a call of one of its tools wakes it" if stats.state == "asleep" else ""
    return f"has no process now, it is {stats.state}{why}{then}"


def _tell_begin(chosen: Candidate, seconds: int) -> None:
    if os.isatty(2):
        print(  # noqa: T201
            f"zot ext profile: pid {chosen.identity.pid} ({chosen.program.name}) for {seconds} s; Ctrl-C ends it",
            file=sys.stderr,
        )


def lines(name: str, profile: Profile) -> list[str]:
    """The profile for a person."""
    return [
        f"{one_line(name, 200)}: pid {profile.pid} ({profile.program}), {profile.seconds:g} s,"
        f" {profile.cpu_s:.2f} s of them on the processor",
        *(_line(spot) for spot in profile.hot_spots),
        *([] if profile.hot_spots else ["  it was idle all the time: no function ran"]),
        f"{profile.file}: open it at https://www.speedscope.app",
    ]


def _line(spot: HotSpot) -> str:
    place = f" ({spot.place})" if spot.place else ""
    return f"  {spot.self_s:6.2f} s {number_format.number(round(spot.percent)):>4} %  {one_line(spot.function + place, 300)}"
