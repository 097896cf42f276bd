"""An idle host with many lazy extensions: their processes, and its memory."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from benchmarks.batch.place import tree
from benchmarks.report import Table
from benchmarks.sharing.pss import pss
from benchmarks.sharing.runs import RawRun
from benchmarks.sharing.stack import Stack
from benchmarks.workshop import PROGRAMS
from tests.support.marked_processes import command_line

if TYPE_CHECKING:
    from benchmarks.claims import Claims
    from benchmarks.report import Report
    from benchmarks.sharing.stack import ZotHost
    from benchmarks.workshop import Workshop

COUNT, QUICK_COUNT = 50, 3
MOST_MIB = 30.0
IDLE_S, KEPT_S = 3.0, 2.0
"""Seconds before the host is looked at, and until it has kept the registrations of a first start."""
PROGRAM = "pool_extension.py"
NO_EFFECT = 'lazy: "start": "lazy" has no effect in this tree yet, left out'


def lazy(report: Report, shop: Workshop, claims: Claims, *, quick: bool) -> None:
    count = QUICK_COUNT if quick else COUNT
    stack = Stack(shop.folder)
    starts = shop.folder / "started"
    names = [f"lazy{number}" for number in range(count)]
    words = []
    for name in names:
        argv = shop.python(PROGRAMS / PROGRAM, name, str(shop.folder))
        words += ["-e", str(stack.extension(name, argv, sessions="shared", start="lazy"))]
    with stack.host(*words) as host:  # so that their registrations are known
        for name in names:
            RawRun(host.attach_path, f"first {name}", extension=name).close()
        time.sleep(KEPT_S)
    starts.write_bytes(b"")
    with stack.host(*words) as host:
        run = RawRun(host.attach_path, "second", extension=names[0])  # wakes none
        time.sleep(IDLE_S)
        alive = [pid for pid in host.children() if PROGRAM in command_line(pid)]
        sizes = _sizes(host)
        run.close()
    if len(alive) == count:
        report.note(NO_EFFECT)
        return
    table = Table(f"an idle host with {count} lazy extensions", ("", "count, or PSS in MiB"))
    table.add("processes of extensions", len(alive))
    table.add("started since the start of the host", starts.read_bytes().count(b"\n"))
    for name, size in sizes.items():
        table.add(name, size)
    report.show(table)
    claims.add(f"{count} lazy extensions: at most 1 process of theirs", str(len(alive)), len(alive) <= 1)
    found = sizes["all processes"]
    claims.add(f"and at most {MOST_MIB:g} MiB", f"{found:.1f} MiB", None if quick else found <= MOST_MIB)


def _sizes(host: ZotHost) -> dict[str, float]:
    return {"the host": pss(host.pid) / 2**20, "all processes": sum(map(pss, tree(host.pid))) / 2**20}
