"""Measures verdicts and tool calls of zot's own protocol with the modules of one checkout. `calls` runs it, by turns in
two checkouts, as a file: `call_host.py CHECKOUT PART ROUNDS SAMPLES`.

The parts: `child` with the C echo on one core, beside a blocking host; `alone` without a process, so that only the
host's own code counts: an answer is there as soon as its question is sent. Both print JSON: for each path p50 in µs
of each round. `verdicts` and `calls` do as many as SAMPLES says, alone, and print nothing: for a program that counts
instructions.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    sys.path[0] = sys.argv[1]

from msgspec import Raw

from benchmarks.hosts import ARGS, Blocking
from benchmarks.placement import Placement, possible
from benchmarks.samples import percentiles
from benchmarks.workshop import CHILDREN, Workshop, stop
from wire import frames

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.supervisor import Supervisor

ARGS_TEXT = json.dumps(ARGS).encode()
CALL_ARGS = b'{"text":"git status --short && git diff --stat"}'
VERDICT = b'{"type":"event_intercept_response","id":"%d"}\n'
RESULT = (
    b'{"type":"tool_result","id":"%d","content":[{"type":"text","text":"git status --short && git diff --stat"}]}\n'
)


def event(number: int) -> frames.Event:
    """Each event is another one, as in a run."""
    return frames.Event("tool_call", tool_id=f"toolu_{number}", tool_name="bash", tool_args=Raw(ARGS_TEXT))


class AtOnce:
    """Stands for the pipe to a process which has answered as soon as it is asked."""

    name = "stdin"
    queued = 0
    stuck_since = None
    is_open = True

    def __init__(self, worker: Any, answer: bytes) -> None:
        self._receive = (
            worker.channel.receive if hasattr(worker, "channel") else worker._on_stdout
        )  # in older checkouts
        self._account = requests_of(worker).account
        self._answer = answer

    def send(self, _frame: bytes) -> bool:
        self._receive(self._answer % self._account.calls)
        return True


def requests_of(worker: Any) -> Any:
    """The part of a worker that writes to its process. In older checkouts it is the worker itself."""
    return getattr(worker, "requests", worker)


def verdicts(supervisor: Supervisor, count: int) -> list[int]:
    samples = []
    clock, intercept = time.perf_counter_ns, supervisor.intercept
    for each in [event(number) for number in range(count)]:
        start = clock()
        intercept(each)
        samples.append(clock() - start)
    return samples


def calls(supervisor: Supervisor, count: int) -> list[int]:
    samples = []
    clock, loop, begin = time.perf_counter_ns, supervisor.loop, supervisor.begin_call
    owned = supervisor.registrations.tools()["echo"]
    for _ in range(count):
        answers: list[Any] = []
        start = clock()
        begin(owned, CALL_ARGS, answers.append)
        loop.run_until(partial(bool, answers))
        samples.append(clock() - start)
        assert answers[0].frame is not None, answers[0].reason
    return samples


PATHS: dict[str, tuple[Callable[[Supervisor, int], list[int]], bytes]] = {
    "verdict": (verdicts, VERDICT),
    "tool call": (calls, RESULT),
}


def started(shop: Workshop, echo: Sequence[str]) -> Supervisor:
    return shop.started([shop.extension("guard", echo)])


def with_child(shop: Workshop, echo: Sequence[str], rounds: int, samples: int) -> dict[str, list[float]]:
    supervisor, blocking = started(shop, echo), Blocking(echo)
    found: dict[str, list[float]] = {"blocking": [], **{name: [] for name in PATHS}}
    pids = [extension.pid for extension in supervisor.extensions if extension.pid is not None]
    place, here = possible()[0], [os.getpid()]
    for number in range(rounds + 1):
        blocking.place(place)
        place.apply(here, pids)
        measured = {"blocking": list(blocking.measure(samples, 0.0))}
        measured |= {name: measure(supervisor, samples) for name, (measure, _) in PATHS.items()}
        if number:  # the first round is to warm up
            for name, taken in measured.items():
                found[name].append(percentiles(taken)[0])
    Placement.FREE.apply(here, pids)
    blocking.close()
    stop(supervisor)
    return found


def alone(shop: Workshop, echo: Sequence[str], rounds: int, samples: int) -> dict[str, list[float]]:
    supervisor = started(shop, echo)
    worker: Any = supervisor.extensions[0].lead
    requests = requests_of(worker)
    stdin = requests.stdin
    found: dict[str, list[float]] = {name: [] for name in PATHS}
    for number in range(rounds + 1):
        for name, (measure, answer) in PATHS.items():
            requests.stdin = AtOnce(worker, answer)
            taken = measure(supervisor, samples)
            if number:
                found[name].append(percentiles(taken)[0])
    requests.stdin = stdin
    stop(supervisor)
    return found


def only(shop: Workshop, echo: Sequence[str], path: str, samples: int) -> None:
    supervisor = started(shop, echo)
    worker: Any = supervisor.extensions[0].lead
    requests = requests_of(worker)
    stdin = requests.stdin
    measure, answer = PATHS[path]
    requests.stdin = AtOnce(worker, answer)
    measure(supervisor, samples)
    requests.stdin = stdin
    stop(supervisor)


def main() -> None:
    _, _, part, rounds, samples = sys.argv
    gc.freeze()
    with Workshop() as shop:
        echo = [shop.compiled(CHILDREN / "echo.c")] if shop.has_compiler else ["/bin/sh", str(CHILDREN / "echo.sh")]
        if part in PATHS:
            only(shop, echo, part, int(samples))
        else:
            measure = with_child if part == "child" else alone
            print(json.dumps(measure(shop, echo, int(rounds), int(samples))))


if __name__ == "__main__":
    main()
