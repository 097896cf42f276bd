"""The template of batches, whose runs say on standard error which modules they have imported."""

from __future__ import annotations

import os
import sys

from agent.batch.run import run_main, template_main
from supervisor.template.server import serve


def traced(argument: bytes) -> int:
    before = set(sys.modules)
    status = run_main.main(argument)
    os.write(2, f"imported: {sorted(sys.modules.keys() - before)}\n".encode())
    return status


if __name__ == "__main__":
    template_main.prepare()
    serve(int(sys.argv[1]), {"run": traced, "model_worker": template_main.model_worker})
