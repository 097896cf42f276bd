"""The contenders of `intercept`: our supervisor, a blocking host, two C programs, and a process for each call."""

from __future__ import annotations

import array
import json
import os
import selectors
import subprocess
import time
from typing import TYPE_CHECKING, Any, Protocol

import orjson
from msgspec import Raw

from benchmarks.placement import Placement
from benchmarks.samples import Rounds
from benchmarks.workshop import stop
from wire import frames

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from supervisor.supervisor import Supervisor

ARGS = {"command": "git status --short && git diff --stat"}
EVENT = frames.Event(
    "tool_call", tool_id="toolu_01A09q90qw90lq917835lq9", tool_name="bash", tool_args=Raw(orjson.dumps(ARGS))
)
QUESTION = {
    "type": "event_intercept",
    "id": "1",
    "event": EVENT.event,
    "tool_id": EVENT.tool_id,
    "tool_name": EVENT.tool_name,
    "tool_args": ARGS,
}
QUESTION_SIZE = len(orjson.dumps(QUESTION)) + 1
ANSWER_SIZE = len(b'{"type":"event_intercept_response","id":"1"}\n')


class Host(Protocol):
    """A contender of the benchmark."""

    def measure(self, count: int, gap_s: float) -> Sequence[int]:
        """Returns the nanoseconds of `count` round trips, each after a pause of `gap_s` seconds."""
        ...

    def place(self, placement: Placement) -> None: ...
    def close(self) -> None: ...


class Supervised:
    """The product's own path: `Supervisor.intercept` with registered extensions."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor = supervisor

    def measure(self, count: int, gap_s: float) -> Sequence[int]:
        samples: list[int] = []
        intercept, loop, clock = self.supervisor.intercept, self.supervisor.loop, time.perf_counter_ns
        for _ in range(count):
            if gap_s:
                loop.run_until(_never, loop.clock() + gap_s)
            start = clock()
            intercept(EVENT)
            samples.append(clock() - start)
        return samples

    def place(self, placement: Placement) -> None:
        children = [extension.pid for extension in self.supervisor.extensions if extension.pid is not None]
        placement.apply([os.getpid()], children)

    def close(self) -> None:
        stop(self.supervisor)


class ToolCalls(Supervised):
    """The product's own path: `Supervisor.begin_call` of one tool, with these arguments."""

    def __init__(self, supervisor: Supervisor, tool: str, args: bytes) -> None:
        super().__init__(supervisor)
        self._owned = supervisor.registrations.tools()[tool]
        self._args = args

    def measure(self, count: int, gap_s: float) -> Sequence[int]:  # noqa: ARG002
        samples: list[int] = []
        answers: list[Any] = []
        begin, loop, clock = self.supervisor.begin_call, self.supervisor.loop, time.perf_counter_ns
        for number in range(1, count + 1):
            start = clock()
            begin(self._owned, self._args, answers.append)
            loop.run_until(lambda number=number: len(answers) == number)  # type: ignore[misc]
            samples.append(clock() - start)
        failed = [answer.reason for answer in answers if answer.frame is None or answer.frame.is_error]
        assert not failed, failed[0]
        return samples


class Elsewhere:
    """A host in a process of its own. It prints one line of JSON when it is ready, with its pid and those of its
    `servers`. Then each line of its input is an order with a number of round trips, and it writes the nanoseconds of
    each as a `uint64`."""

    def __init__(self, argv: Sequence[str], order: str = "", env: Mapping[str, str] | None = None) -> None:
        self._order = order
        self._process = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        line = self._from.readline()
        if not line:
            raise RuntimeError(f"{argv} ended with {self._process.wait()}")
        self.figures: dict[str, Any] = json.loads(line)

    def measure(self, count: int, gap_s: float) -> Sequence[int]:  # noqa: ARG002
        self._to.write(f"{self._order} {count}\n".encode())
        self._to.flush()
        samples = array.array("Q")
        samples.frombytes(self._from.read(8 * count))
        return samples

    def place(self, placement: Placement) -> None:
        placement.apply([self.figures["pid"]], self.figures["servers"])

    def close(self) -> None:
        self._to.close()
        self._process.wait()
        self._from.close()


class Blocking:
    """A host that blocks while it waits: `os.write`, `os.read`, orjson. It has one extension and no deadline. Between
    spaced calls it reads from the `floods`, and throws away what they say. Beside floods each process has a session of
    its own, as with zot: the kernel may share out the processors by session."""

    def __init__(self, argv: Sequence[str], floods: Sequence[Sequence[str]] = ()) -> None:
        self._selector = selectors.DefaultSelector()
        self._process, *self._floods = (
            subprocess.Popen(
                each, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=bool(floods)
            )
            for each in (argv, *floods)
        )
        for flood in self._floods:
            assert flood.stdout is not None
            self._selector.register(flood.stdout, selectors.EVENT_READ)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        greeting = b""
        while b'"ready"' not in greeting:
            data = os.read(self._from, 65536)
            if not data:
                raise RuntimeError(f"{argv} ended before it was ready")
            greeting += data

    def measure(self, count: int, gap_s: float) -> Sequence[int]:
        samples: list[int] = []
        to, from_, clock = self._to, self._from, time.perf_counter_ns
        for _ in range(count):
            if gap_s and self._floods:
                self._read_floods(time.monotonic() + gap_s)
            elif gap_s:
                time.sleep(gap_s)
            start = clock()
            os.write(to, orjson.dumps(QUESTION) + b"\n")
            line = os.read(from_, 65536)
            while not line.endswith(b"\n"):
                line += os.read(from_, 65536)
            orjson.loads(line)
            samples.append(clock() - start)
        return samples

    def _read_floods(self, end: float) -> None:
        while (left := end - time.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                os.read(key.fd, 65536)

    def place(self, placement: Placement) -> None:
        placement.apply([os.getpid()], [process.pid for process in (self._process, *self._floods)])

    def close(self) -> None:
        self._selector.close()
        for process in (self._process, *self._floods):
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            process.wait()
            process.stdout.close()


class Floor:
    """Two C programs that send each other as many bytes as a question and an answer have, and do nothing else."""

    def __init__(self, program: str) -> None:
        argv = [program, str(QUESTION_SIZE), str(ANSWER_SIZE)]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        self._pids = [int(pid) for pid in self._from.readline().split()]

    def measure(self, count: int, gap_s: float) -> Sequence[int]:
        self._to.write(b"%d %d\n" % (count, gap_s * 1e6))
        self._to.flush()
        samples = array.array("I")
        samples.frombytes(self._from.read(4 * count))
        return samples

    def place(self, placement: Placement) -> None:
        placement.apply(self._pids[:1], self._pids[1:])

    def close(self) -> None:
        self._to.close()
        self._process.wait()
        self._from.close()


class Hook:
    """Starts a process for each question, as other agents do. The process gets the frame on stdin and writes the
    verdict to stdout."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = argv

    def measure(self, count: int, gap_s: float) -> Sequence[int]:  # noqa: ARG002
        samples: list[int] = []
        for _ in range(count):
            start = time.perf_counter_ns()
            done = subprocess.run(self._argv, input=orjson.dumps(QUESTION) + b"\n", stdout=subprocess.PIPE, check=True)
            orjson.loads(done.stdout)
            samples.append(time.perf_counter_ns() - start)
        return samples

    def place(self, placement: Placement) -> None:
        placement.apply([os.getpid()], [])

    def close(self) -> None:
        pass


def _never() -> bool:
    return False


def by_turns(hosts: Mapping[str, Host], placement: Placement, rounds: int, samples: int) -> dict[str, Rounds]:
    """Measures all hosts by turns, after one more round to warm up."""
    found = {name: Rounds() for name in hosts}
    for number in range(rounds + 1):
        for name, host in hosts.items():
            host.place(placement)
            taken = host.measure(samples, 0.0)
            if number:
                found[name].add(taken)
    return found


def close_all(hosts: Mapping[str, Host]) -> None:
    for host in hosts.values():
        host.place(Placement.FREE)
        host.close()
