"""Starts COUNT extensions under one supervisor until all are ready, and prints the seconds, the host's own CPU seconds
meanwhile and its memory (RSS) in bytes as JSON. `start` runs it in a fresh process each time.

They get a minimal environment, as MCP servers do by default and as the official client gives it to them.

argv: DIALECT COUNT ARGV…
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from benchmarks.workshop import SETTLE_S, Workshop, stop
from supervisor.discovery.environment import extension_environment
from supervisor.home.config import Config
from supervisor.loop.loop import Loop
from supervisor.process.table import read_process
from supervisor.supervisor import Supervisor
from wire.dialects.base import HostInfo
from wire.manifest import Timeouts


def main() -> None:
    dialect, count, *argv = sys.argv[1:]
    with Workshop() as shop:
        fields: dict[str, Any] = {"dialect": dialect, "env_policy": "minimal", "timeouts": Timeouts(ready=SETTLE_S)}
        found = [shop.extension(f"e{i}", argv, i, **fields) for i in range(int(count))]
        host = HostInfo("0", "replay", "none", str(shop.folder))
        supervisor = Supervisor(Loop(), host=host, logs=shop.folder / "logs")
        began, cpu = time.perf_counter(), time.process_time()
        supervisor.start(found, lambda one: extension_environment(one, Config(), os.environ))
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
