"""The round trip of an `event_intercept` through the product's own call path, beside floors and peers."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.hosts import Blocking, Floor, Hook, Host, Supervised
from benchmarks.layers import LAYERS, Layer
from benchmarks.placement import Placement, possible
from benchmarks.report import Report, Table, parse
from benchmarks.samples import Rounds
from benchmarks.workshop import CHILDREN, PROGRAMS, Workshop, has_node

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COLUMNS = ("", "p50 µs", "p90 µs", "p99 µs", "of floor", "of blocking", "samples")
FLOOR, BLOCKING = "floor: C to C, bytes only", "blocking Python host, C echo"
ZOT = "zot, C echo"


class Effort(NamedTuple):
    """How much a run measures."""

    rounds: int
    tight: int
    """Samples of one round, back to back."""
    spaced_rounds: int
    spaced: int
    hooks: int
    registered: tuple[int, ...]
    serial: int
    floods: int


FULL = Effort(
    rounds=20, tight=1000, spaced_rounds=5, spaced=200, hooks=2, registered=(1, 10, 100), serial=10, floods=20
)
QUICK = Effort(rounds=2, tight=100, spaced_rounds=1, spaced=5, hooks=1, registered=(1, 3), serial=2, floods=2)


class Bench:
    def __init__(self, report: Report, workshop: Workshop, effort: Effort) -> None:
        self._report = report
        self._shop = workshop
        self._effort = effort
        self._languages = {"typical Python": self._shop.python(CHILDREN / "echo.py")}
        if has_node():
            self._languages["Node"] = ["node", str(CHILDREN / "echo.js")]
        else:
            report.note("node is not here: left out")
        if workshop.has_compiler:
            self._echo = [workshop.compiled(CHILDREN / "echo.c")]
        else:
            report.note("no C compiler: the floor and the C echo are left out, an echo in sh stands in")
            self._echo = ["/bin/sh", str(CHILDREN / "echo.sh")]

    def run(self) -> None:
        self._pinned()
        for placement in possible():
            self._languages_at(placement)
        for placement in possible():
            self._spaced(placement)
        for placement in (possible()[0], possible()[-1]):
            self._side_by_side(placement)
        self._flooded()
        self._layers()
        self._hooks()

    # --- the tables ---------------------------------------------------------------------------------------

    def _pinned(self) -> None:
        """Measures both sides on one core: with more extensions registered, and with more guards asked."""
        effort = self._effort
        with self._hosts() as hosts:
            for count in effort.registered:
                hosts[f"{ZOT}, {count} registered"] = self._supervised(self._echo, others=count - 1)
            hosts[f"{ZOT}, {effort.serial} asked in turn"] = self._supervised(self._echo, guards=effort.serial)
            self._compare("back to back, one core", hosts, possible()[0])

    def _languages_at(self, placement: Placement) -> None:
        with self._hosts() as hosts:
            hosts[ZOT] = self._supervised(self._echo)
            for language, argv in self._languages.items():
                hosts[f"blocking Python host, {language} echo"] = Blocking(argv)
                hosts[f"zot, {language} echo"] = self._supervised(argv)
            self._compare(f"three languages, back to back, {placement.value}", hosts, placement)

    def _spaced(self, placement: Placement) -> None:
        with self._hosts() as hosts:
            hosts[ZOT] = self._supervised(self._echo)
            self._compare(f"a call every 2 ms, {placement.value}", hosts, placement, gap_s=0.002)

    def _side_by_side(self, placement: Placement) -> None:
        """Measures guards that are asked one after another, and the same guards asked at the same time."""
        count = self._effort.serial
        programs = {"C echo": self._echo, **{f"{name} echo": argv for name, argv in self._languages.items()}}
        programs["sh that waits 2 ms"] = ["/bin/sh", str(PROGRAMS / "slow_guard.sh")]
        columns = ("", "in turn, p50 µs", "side by side, p50 µs", "side by side / in turn", "samples")
        table = Table(f"{count} guards of one event, {placement.value}", columns)
        for name, argv in programs.items():
            self._report.progress(f"{count} guards: {name}")
            hosts: dict[str, Host] = {
                "in turn": self._supervised(argv, guards=count),
                "side by side": self._supervised(argv, guards=count, independent=True),
            }
            try:
                rounds = self._measure(hosts, placement, count=max(self._effort.tight // 10, 2))
                in_turn, side_by_side = (rounds[host] for host in hosts.values())
                p50s = (in_turn.figures()[0], side_by_side.figures()[0])
                table.add(name, *p50s, side_by_side.ratio_to(in_turn), side_by_side.count)
            finally:
                for host in hosts.values():
                    host.place(Placement.FREE)
                    host.close()
        self._report.show(table)

    def _flooded(self) -> None:
        """Measures a guard's verdict while other extensions send notes as fast as the host reads them."""
        floods, first, last = self._effort.floods, possible()[0], possible()[-1]
        for gap_s, placement in ((0.0, first), (0.002, first), (0.002, last)):
            what = f"{'a call every 2 ms' if gap_s else 'back to back'}, {placement.value}, while others flood"
            with self._hosts() as hosts:
                peer = hosts[f"{BLOCKING}, {floods} others flood"] = Blocking(self._echo, [self._flood()] * floods)
                quiet = hosts[f"{ZOT}, quiet"] = self._supervised(self._echo)
                flooded = hosts[f"{ZOT}, {floods} others flood"] = self._supervised(self._echo, floods=floods)
                before = _frames_in(flooded)
                rounds = self._compare(what, hosts, placement, gap_s=gap_s)
                ratio = rounds[flooded].ratio_to(rounds[quiet])
                tail = rounds[flooded].figures()[2] / rounds[peer].figures()[2]
                self._report.note(
                    f"flooded / quiet, p50: {ratio:.2f}; p99 / blocking beside a flood: {tail:.2f}; "
                    f"notes taken meanwhile: {_frames_in(flooded) - before:,}"
                )

    def _layers(self) -> None:
        """Measures the layers of our part of a call."""
        with self._hosts() as hosts:
            for name, layer in LAYERS.items():
                supervisor = self._shop.started([self._shop.extension("guard", self._echo)])
                hosts[name] = Layer(supervisor, layer)
            self._compare("the layers of a call, one core", hosts, possible()[0])

    def _hooks(self) -> None:
        script = 'read -r line; echo "{}"'
        code = "import json, sys; json.load(sys.stdin); print(json.dumps({}))"
        with ExitStack() as closing:
            hosts: dict[str, Host] = {"a new sh for each call": Hook(["sh", "-c", script])}
            hosts["a new python3 for each call"] = Hook([sys.executable, "-c", code])
            if has_node():
                program = "JSON.parse(require('fs').readFileSync(0)); console.log('{}')"
                hosts["a new node for each call"] = Hook(["node", "-e", program])
            zot = hosts["zot, typical Python echo"] = self._supervised(self._languages["typical Python"])
            closing.callback(zot.close)
            table = Table("a hook that is started for each call, free", ("", "p50 µs", "of zot", "samples"))
            rounds = self._measure(hosts, possible()[-1], count=self._effort.hooks)
            for name, host in hosts.items():
                p50, _, _ = rounds[host].figures()
                table.add(name, p50, rounds[host].ratio_to(rounds[zot]), rounds[host].count)
            self._report.show(table)

    # --- how they are made --------------------------------------------------------------------------------

    @contextmanager
    def _hosts(self) -> Iterator[dict[str, Host]]:
        """Gives the block the floor and the blocking host as first contenders. At the end closes all contenders and
        releases the processes from their cores."""
        hosts: dict[str, Host] = {}
        try:
            if self._shop.has_compiler:
                hosts[FLOOR] = Floor(self._shop.compiled(PROGRAMS / "ping_pong.c"))
            hosts[BLOCKING] = Blocking(self._echo)
            yield hosts
        finally:
            for host in hosts.values():
                host.place(Placement.FREE)
                host.close()

    def _supervised(
        self, argv: Sequence[str], *, guards: int = 1, others: int = 0, floods: int = 0, independent: bool = False
    ) -> Supervised:
        found = [
            self._shop.extension(f"guard{i}", [*argv, f"guard{i}"], i, independent=independent) for i in range(guards)
        ]
        found += self._shop.bystanders(others)
        found += [self._shop.extension(f"flood{i}", self._flood(), 500 + i) for i in range(floods)]
        return Supervised(self._shop.started(found))

    def _flood(self) -> list[str]:
        if self._shop.has_compiler:
            return [self._shop.compiled(CHILDREN / "flood_notify.c")]
        return self._shop.python(CHILDREN / "child.py", "flood_notify")

    def _measure(
        self, hosts: dict[str, Host], placement: Placement, *, count: int, gap_s: float = 0.0
    ) -> dict[Host, Rounds]:
        """Measures every host in each round: then other load of the machine affects all hosts alike."""
        rounds = {host: Rounds() for host in hosts.values()}
        for number in range((self._effort.spaced_rounds if gap_s else self._effort.rounds) + 1):
            for host in hosts.values():
                host.place(placement)
                samples = host.measure(count, gap_s)
                if number > 0:  # the first round is to warm up
                    rounds[host].add(samples)
        return rounds

    def _compare(
        self, title: str, hosts: dict[str, Host], placement: Placement, *, gap_s: float = 0.0
    ) -> dict[Host, Rounds]:
        self._report.progress(title)
        count = self._effort.spaced if gap_s else self._effort.tight
        rounds = self._measure(hosts, placement, count=count, gap_s=gap_s)
        table = Table(title, COLUMNS)
        for name, host in hosts.items():
            mine = rounds[host]
            ratios = [mine.ratio_to(rounds[hosts[peer]]) if peer in hosts else None for peer in (FLOOR, BLOCKING)]
            table.add(name, *mine.figures(), *ratios, mine.count)
        self._report.show(table)
        return rounds


def _frames_in(host: Supervised) -> int:
    return sum(extension.account.frames_in for extension in host.supervisor.extensions)


def main(argv: list[str] | None = None) -> None:
    options = parse(Path(__file__).stem, __doc__ or "", argv)
    report = Report(Path(__file__).stem, options)
    with Workshop() as workshop:
        Bench(report, workshop, QUICK if options.quick else FULL).run()
    report.finish()


if __name__ == "__main__":
    main()
