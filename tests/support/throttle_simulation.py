"""Many runs with one throttle and one account, on a virtual clock: how many requests are refused, and how long it takes
compared to what the limits allow. Prints the figures when it is run as a program: `python -m ...`."""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from agent.batch.throttle import Throttle
from agent.cassette.reply_lines import Limits, RateLimit
from tests.support.messages_server.token_bucket import Account

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS, REQUESTS = 600, 3
FIRST_BYTE_S, REPLY_S = 1.0, 4.0
"""Means; each lasts from half to one and a half times as long."""
LIMITS = {"requests": 600, "input_tokens": 150_000, "output_tokens": 60_000}
INPUT, OUTPUT, BYTES_PER_TOKEN = 500, 100, 4
"""Means of tokens per request; each needs from half to one and a half times as many."""


@dataclass(frozen=True)
class Figures:
    refused_per_answer: float
    time_per_ideal: float
    """Ideal is when the account has served all, others included, as fast as its limits allow."""
    longest_wait_s: float
    """Of one request, from its first wish to its answer."""


def simulate(jobs: int, *, others: float = 0.0, with_headers: bool = True, seed: int = 1) -> Figures:
    """`others` is the part of the account that others want, in bursts."""
    return _Simulation(jobs, others, with_headers, seed).run()


class _Simulation:
    def __init__(self, jobs: int, others: float, with_headers: bool, seed: int) -> None:
        self._random = Random(seed)
        self._with_headers = with_headers
        self._account = Account(0.0, **LIMITS)
        self._throttle = Throttle(jobs)
        self._now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._waiting: deque[_Wanted] = deque()
        self._to_start = RUNS
        self._left = RUNS
        self._taken = [0.0, 0.0, 0.0]
        self._longest = 0.0
        self._others = others
        self._answered = self._refused = 0
        self._look: float = math.inf
        for _ in range(jobs):
            self._begin_run()
        if others:
            self._at(self._now, self._use_by_others)

    def run(self) -> Figures:
        while self._left:
            self._pump()
            self._now, _, callback = heapq.heappop(self._events)
            callback()
        taken = zip(self._taken, LIMITS.values(), strict=True)
        ideal = max((used / limit - 1) * 60 for used, limit in taken)
        return Figures(self._refused / self._answered, self._now / ideal, self._longest)

    def _at(self, when: float, callback: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (when, self._count, callback))

    def _spread(self, mean: float) -> float:
        return mean * (0.5 + self._random.random())

    def _begin_run(self) -> None:
        if self._to_start:
            self._to_start -= 1
            self._want(REQUESTS)

    def _want(self, left: int) -> None:
        self._count += 1
        tokens = self._spread(INPUT)
        self._waiting.append(_Wanted(self._count, left, tokens, self._spread(OUTPUT), self._now))

    def _pump(self) -> None:
        while self._waiting:
            wanted = self._waiting[0]
            size = int(wanted.input * BYTES_PER_TOKEN)
            wait = self._throttle.may_send(self._now, self._throttle.estimate(size))
            if wait is not None:
                if wait.until < self._look and not math.isinf(wait.until):
                    self._look = wait.until
                    self._at(wait.until, self._looked)
                return
            self._waiting.popleft()
            self._throttle.sent(str(wanted.number), size)
            self._at(self._now + self._spread(FIRST_BYTE_S) / 2, lambda wanted=wanted: self._arrive(wanted))

    def _looked(self) -> None:
        self._look = math.inf

    def _arrive(self, wanted: _Wanted) -> None:
        """At the server, which answers a little later."""
        wait = self._account.take(self._now, requests=1, input_tokens=wanted.input, output_tokens=wanted.output)
        limits = self._limits()
        back = self._now + self._spread(FIRST_BYTE_S) / 2
        if wait:
            self._at(back, lambda: self._refuse(wanted, math.ceil(wait), limits))
            return
        self._count_use((1.0, wanted.input, wanted.output))
        self._at(back, lambda: self._answer(wanted, limits))

    def _limits(self) -> Limits | None:
        if not self._with_headers:
            return None
        told = {
            name.replace("-", "_"): RateLimit(limit, round(left, -2), float(round(reset)))
            for name, (limit, left, reset) in self._account.told().items()
        }
        return Limits(**told)

    def _refuse(self, wanted: _Wanted, wait: int, limits: Limits | None) -> None:
        self._refused += 1
        wanted.refusals += 1
        self._throttle.refused(self._now, str(wanted.number), wait, limits)
        place = sum(other.number < wanted.number for other in self._waiting)
        self._waiting.insert(place, wanted)

    def _answer(self, wanted: _Wanted, limits: Limits | None) -> None:
        self._answered += 1
        self._longest = max(self._longest, self._now - wanted.since)
        self._throttle.answered(self._now, str(wanted.number), limits)
        self._at(self._now + self._spread(REPLY_S), lambda: self._finish(wanted))

    def _finish(self, wanted: _Wanted) -> None:
        usage = {"input": int(wanted.input), "output": int(wanted.output)}
        self._throttle.finished(self._now, str(wanted.number), usage)
        if wanted.left > 1:
            self._want(wanted.left - 1)
        else:
            self._left -= 1
            self._begin_run()

    def _use_by_others(self) -> None:
        """Every ten seconds, with many requests at once, as much of their part as they get."""
        requests = int(self._others * LIMITS["requests"] / 6)
        for _ in range(requests):
            used = (1.0, self._spread(INPUT), self._spread(OUTPUT))
            wait = self._account.take(self._now, requests=used[0], input_tokens=used[1], output_tokens=used[2])
            if not wait:
                self._count_use(used)
        self._at(self._now + 10, self._use_by_others)

    def _count_use(self, used: tuple[float, float, float]) -> None:
        self._taken = [before + more for before, more in zip(self._taken, used, strict=True)]


@dataclass
class _Wanted:
    number: int
    left: int
    input: float
    output: float
    since: float
    refusals: int = 0


def main() -> None:
    for jobs in (32, 128):
        for others in (0.0, 0.5):
            for with_headers in (True, False):
                figures = simulate(jobs, others=others, with_headers=with_headers)
                print(f"jobs {jobs} others {others} headers {with_headers}: {figures}")


if __name__ == "__main__":
    main()
