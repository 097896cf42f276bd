"""Starts COUNT Copilot extensions under one supervisor until all have joined. Prints the seconds, the host's own CPU
seconds meanwhile and its memory (RSS) in bytes as JSON. `start` runs it in a fresh process each time.

argv: COUNT
"""

from __future__ import annotations

import json
import os
import sys
import time

from benchmarks.copilot.contenders import environment, extensions
from benchmarks.workshop import SESSION, SETTLE_S, Workshop, stop
from supervisor.loop.loop import Loop
from supervisor.process.table import read_process
from supervisor.supervisor import Supervisor
from wire.dialects.base import HostInfo


def main() -> None:
    with Workshop() as shop:
        found = extensions(shop.folder, int(sys.argv[1]))
        host = HostInfo("0", "replay", "none", str(shop.folder), SESSION)
        supervisor = Supervisor(Loop(), host=host, logs=shop.folder / "logs")
        began, cpu = time.perf_counter(), time.process_time()
        supervisor.start(found, lambda one: {**environment(), **one.set_env})
        supervisor.settle(supervisor.loop.clock() + SETTLE_S)
        ready_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        late = [extension.name for extension in supervisor.extensions if not extension.was_ready]
        own = read_process(os.getpid())
        stop(supervisor)
        if late:
            raise RuntimeError(f"not ready within {SETTLE_S:g} s: {', '.join(late)}")
        print(json.dumps({"ready_s": ready_s, "cpu_s": cpu_s, "rss": own.rss if own else 0}))


if __name__ == "__main__":
    main()
