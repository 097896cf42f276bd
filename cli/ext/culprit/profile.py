"""`zot ext profile`: profiles a process of a running extension, from outside."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import msgspec

from cli import number_format
from cli.choices import CommandLineError
from cli.hosts.find import host_of
from cli.hosts.profile_order import profile_order, reason_against
from cli.json_line import print_json
from cli.os_errors import UnableError
from supervisor.profile.errors import ProfileError
from supervisor.profile.profiler import make
from wire import control
from wire.suggestions import no_such
from wire.text import one_line

if TYPE_CHECKING:
    from supervisor.profile.choice import Candidate
    from supervisor.profile.outcome import HotSpot, Profile


def run_profile(name: str, pid: int | None, *, seconds: int, output: str | None, as_json: bool) -> int:
    """Prints the hot spots; returns the exit status. Raises `UnableError` if the extension cannot be profiled, besides
    `ControlError`, `CommandLineError` and `OSError`."""
    if output is not None and output.strip() in ("", "-"):
        raise CommandLineError("--output: give it the name of a file; the functions are printed anyway")
    client, name = host_of(name, pid)
    with client:
        info = client.ask(control.Info(client.next_id()), control.HostInfoReply)
        found = client.ask(control.GetStats(client.next_id()), control.StatsReply).stats.extensions
    if (stats := found.get(name)) is None:
        raise CommandLineError(no_such("extension", name, found))
    if why := reason_against(stats, name):
        raise UnableError(f"{name} {why}")
    try:
        order = profile_order(stats, name, info.started, info.pid, seconds, output)
        profile = make(order, lambda chosen: _tell_begin(chosen, seconds))
    except ProfileError as error:
        raise UnableError(f"{name}: {error}") from None
    if as_json:
        print_json({"host": info.pid, "name": name, **msgspec.to_builtins(profile)})
    else:
        print("\n".join(lines(name, profile)))  # noqa: T201
    if profile.warning:
        print(f"zot ext profile: {profile.warning}", file=sys.stderr)  # noqa: T201
    return 0


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
    percent = number_format.number(round(spot.percent))
    return f"  {spot.self_s:6.2f} s {percent:>4} %  {one_line(spot.function + place, 300)}"
