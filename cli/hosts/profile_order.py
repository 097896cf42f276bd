"""The order to profile an extension of a running host, or the reason why it cannot be profiled."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from supervisor.home.zot_home import zot_home
from supervisor.profile.place import Place
from supervisor.profile.profiler import order_for
from supervisor.traces.places import new_id, runs_folder
from wire.text import one_line

if TYPE_CHECKING:
    from supervisor.profile.outcome import ProfileOrder
    from wire.stats import ExtensionStats


def profile_order(
    stats: ExtensionStats, name: str, started: float, host: int, seconds: int, output: str | None = None
) -> ProfileOrder:
    """The order for an extension of the host with this start and pid. Raises `ProfileError` if it has no process."""
    if output:
        return order_for(stats.pids, seconds, Place(path=os.path.abspath(output)))
    start = runs_folder(zot_home()) / f"{new_id(started, host)}.{name}."
    return order_for(stats.pids, seconds, Place(start=str(start)))


def reason_against(stats: ExtensionStats, name: str) -> str:
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
