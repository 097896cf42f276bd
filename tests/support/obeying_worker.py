"""A model worker that says what the request tells it: `params.say` has the lines, and `params.then` is `die`, `hang` or
nothing. It starts in a fraction of the time of the real one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from supervisor.process.child import Child

if TYPE_CHECKING:
    from agent.model.worker_process import StartWorker
    from supervisor.loop.loop import Loop

PROGRAM = """
import json, os, sys
json.loads(sys.stdin.readline())
print('{"type":"ready","whole_sdk":""}', flush=True)
for line in sys.stdin:
    request = json.loads(line)
    for said in request["params"]["say"]:
        if isinstance(said, str):
            print(said, flush=True)
            continue
        print(json.dumps({**said, "id": request["id"]}), flush=True)
    then = request["params"].get("then")
    if then == "die":
        print("no luck", file=sys.stderr, flush=True)
        os._exit(3)
    if then == "hang":
        sys.stdin.read()
"""
START: dict[str, Any] = {"type": "message_start", "usage": {"input": 10, "output": 1}}
FINAL: dict[str, Any] = {
    "type": "final", "content": [], "stop_reason": "end_turn", "usage": {"input": 10, "output": 5},
}  # fmt: skip
REFUSED: dict[str, Any] = {"type": "error", "kind": "rate_limit", "status": 429, "message": "slow down"}


def starter(loop: Loop, started: list[Child] | None = None) -> StartWorker:
    """Starts such workers; each is added to `started`."""

    def start(_provider: str, **given: Any) -> Child:
        child = Child(loop, [sys.executable, "-S", "-E", "-c", PROGRAM], cwd="/", env={}, **given)
        if started is not None:
            started.append(child)
        return child

    return start
