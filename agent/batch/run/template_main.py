"""The program of a batch's template: `python -P PATH/agent/batch/run/template_main.py FD`, as
`supervisor.template.client.Template` starts it.

Its forks are runs (`run`) and model workers (`model_worker`). It imports what both need, and tries both out before it
serves: so a fork imports nothing, and writes to fewer of the pages that it shares with the template.
"""

from __future__ import annotations

import gc
import os
import sys

if __name__ == "__main__":
    # The folder of the programs comes first: the caller's `sys.path` may have another package `agent`.
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    sys.path[:] = [root, *(entry for entry in sys.path if entry != here)]

import ctypes  # noqa: F401  (runs become subreapers by it)
import importlib
import pkgutil
from typing import NoReturn

import agent
import supervisor
from agent.batch.run import run_main
from agent.batch.run.rehearsal import rehearse
from agent.cassette import CassetteError
from agent.model.worker import worker_main
from supervisor.template.server import serve
from wire.dialects.table import MODULES, find_dialect

NOT_OF_A_RUN = (
    "agent.batch.", "agent.rpc", "agent.images.scale_main", "supervisor.harness", "supervisor.host",
    "supervisor.install", "supervisor.telemetry.exporter_main", "supervisor.telemetry.extension_metrics",
    "supervisor.telemetry.host_telemetry", "supervisor.telemetry.otlp_session", "supervisor.template",
)  # fmt: skip
"""Rooms that no run uses, and programs that import what only they need."""
OF_A_RUN = (
    "agent.batch.run.", "agent.batch.workspace.",
    "agent.batch.scoring.last_line", "agent.batch.scoring.score_reader", "agent.batch.scoring.score_command",
)  # fmt: skip
"""The exceptions."""


MORE = 2
"""Further rehearsals."""
NEW_OBJECTS = 10_000
"""New containers after which a fork looks for garbage. It has few that are garbage, about as many as 1 MB."""


def import_all() -> None:
    """Imports all modules of a run and of a model worker: also those that most runs do without."""
    for package in (agent, supervisor):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.startswith(OF_A_RUN) or not module.name.startswith(NOT_OF_A_RUN):
                importlib.import_module(module.name)
    for name in MODULES:
        find_dialect(name)
    worker_main.preload()


def model_worker(_argument: bytes) -> NoReturn:
    """A model worker, on the standard streams of the fork."""
    worker_main.main()


def prepare() -> None:
    """Takes about a second of the processor. The rehearsal with an extension of a host makes fewer objects than the
    first, and saves any run another 5 % of its time. The others have CPython specialize what a run calls: else each run
    writes how often it has called it. Where there is no room for the files of a rehearsal, as in a full /tmp, there is
    none: forks are slower then, and work as well."""
    gc.disable()  # imports make no garbage
    import_all()
    try:
        rehearse()
        rehearse(is_hosted=True)
        for _ in range(MORE):
            rehearse()
    except (OSError, CassetteError):
        pass
    gc.set_threshold(NEW_OBJECTS)
    gc.enable()


def main() -> NoReturn:
    prepare()
    serve(int(sys.argv[1]), {"run": run_main.main, "model_worker": model_worker})


if __name__ == "__main__":
    main()
