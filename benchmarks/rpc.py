"""`zot rpc`: a round trip, a prompt, a new conversation, floods of records, memory over 1,000 prompts, and the import
of the Python API."""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from agent.cassette import CassettePlayer
from agent.model.replay_provider import ReplayProvider
from benchmarks.claims import Claims
from benchmarks.placement import Placement, possible
from benchmarks.report import Report, Table, parse
from benchmarks.rpc_flood import Flood
from benchmarks.rpc_imports import imports
from benchmarks.rpc_listener import listener
from benchmarks.rpc_memory import memory
from benchmarks.rpc_peer import DELTA, DONE, Peer, line_server, recorded, request, zot, zot_env
from benchmarks.samples import Rounds
from benchmarks.workshop import Workshop
from tests.support.messages_server import MessagesServer, Reply, events_reply, message_events, text_block

if TYPE_CHECKING:
    from collections.abc import Sequence

PINGS = 300
ROUNDS, QUICK_ROUNDS = 15, 1
PROMPTS = 20
"""Prompts of a round."""
FRESH_ROUNDS = 6
CHUNKS = 20
"""Pieces of text in the answer to a prompt."""
ANSWER = "The project sums numbers, one per line, and prints their mean. " * 6


class Bench:
    def __init__(self, report: Report, workshop: Workshop, claims: Claims, *, quick: bool) -> None:
        self._report = report
        self._claims = claims
        self._folder = workshop.folder
        self._project = self._folder / "project"
        self._project.mkdir()
        self._env = zot_env(self._folder)
        self._rounds = QUICK_ROUNDS if quick else ROUNDS
        self._fresh_rounds = QUICK_ROUNDS if quick else FRESH_ROUNDS
        self._prompts = 2 if quick else PROMPTS
        self._pings = 10 if quick else PINGS

    def _zot(self, *flags: str) -> Peer:
        return Peer([*zot(), *flags], cwd=self._project, env=self._env)

    # --- ping ---------------------------------------------------------------------------------------------

    def ping(self) -> None:
        """A round trip through an idle server, beside a child that answers each line with the same bytes."""
        pong = self._folder / "pong"
        pong.write_text('{"type":"response","command":"ping","success":true,"data":{"pong":true}}\n')
        cassette = recorded(self._folder / "idle.jsonl", self._project, ANSWER, 1, chunks=CHUNKS)
        table = Table(
            "ping: round trip, beside a Python child that echoes lines",
            ("", "p50 µs", "p90 µs", "p99 µs", "of floor"),
        )
        with line_server(pong) as floor, self._zot("rpc", "--replay", str(cassette)) as ours:
            for peer in (floor, ours):
                peer.ask("ping")
            for placement in possible():
                self._report.progress(f"ping, {placement.value}")
                taken = {floor: Rounds(), ours: Rounds()}
                for _ in range(self._rounds):
                    for peer, rounds in taken.items():
                        placement.apply([os.getpid()], [peer.pid])
                        rounds.add([int(peer.ask("ping") * 1e9) for _ in range(self._pings)])
                table.add(f"floor, {placement.value}", *taken[floor].figures(), 1.0)
                table.add(f"zot rpc, {placement.value}", *taken[ours].figures(), taken[ours].ratio_to(taken[floor]))
            Placement.FREE.apply([os.getpid()], [floor.pid, ours.pid])
        self._report.show(table)

    # --- a prompt with a replayed model -------------------------------------------------------------------

    def replayed(self) -> None:
        """A warm server and a whole process replay the same exchange, and a child writes the same lines."""
        prompts = self._rounds * self._prompts + 1
        cassette = str(recorded(self._folder / "many.jsonl", self._project, ANSWER, prompts, chunks=CHUNKS))
        json_run = [*zot(), "--json", "--no-session", "--no-stdin", "--replay", cassette, "go"]
        names = ("floor: the same lines", "zot rpc, warm", "zot --json, the whole process", "the replayed model alone")
        model, asked = ReplayProvider(CassettePlayer.load(cassette, cwd=str(self._project))), request(self._project)
        to_delta, to_done = {name: Rounds() for name in names}, {name: Rounds() for name in names}
        with self._zot("rpc", "--replay", cassette) as ours:
            said = self._folder / "said"
            said.write_bytes(b"".join(_lines_of(ours)))
            with line_server(said) as floor:
                floor.prompt("go")
                for number in range(self._rounds):
                    self._report.progress(f"prompts, round {number + 1} of {self._rounds}")
                    heard = {names[0]: [floor.prompt("go") for _ in range(self._prompts)], names[1]: []}
                    for _ in range(self._prompts):
                        ours.ask("clear")
                        heard[names[1]].append(ours.prompt("go"))
                    whole = self._whole_process(json_run)
                    alone = [_replay_alone(model, asked) for _ in range(self._prompts)]
                    for name in names[:2]:
                        to_delta[name].add([int((one.delta - one.asked) * 1e9) for one in heard[name]])
                        to_done[name].add([int((one.done - one.asked) * 1e9) for one in heard[name]])
                    to_delta[names[2]].add([int(whole[0] * 1e9)])
                    to_done[names[2]].add([int(whole[1] * 1e9)])
                    to_delta[names[3]].add([int(one * 1e9) for one in alone])
                    to_done[names[3]].add([int(one * 1e9) for one in alone])
        table = Table(
            f"a prompt with a replayed model, {CHUNKS} pieces of text",
            ("", "first text, p50 ms", "done, p50 ms", "done, p99 ms", "done of floor", "% of --json"),
        )
        for name in names:
            done = to_done[name].figures()
            ratios = to_done[name].ratio_to(to_done[names[0]]), 100 * to_done[name].ratio_to(to_done[names[2]])
            table.add(name, to_delta[name].figures()[0] / 1000, done[0] / 1000, done[2] / 1000, *ratios)
        self._report.show(table)
        of_process = to_done[names[1]].ratio_to(to_done[names[2]])
        self._claims.add(
            "a replayed prompt of a warm server: at most 0.1 x a process", f"{of_process:.3f} x", of_process <= 0.1
        )

    def _whole_process(self, argv: Sequence[str]) -> tuple[float, float]:
        """Returns the seconds from the start to the first piece of text, and to the end of the process."""
        began = time.monotonic()
        with Peer(argv, cwd=self._project, env=self._env) as run:
            delta = run.until(lambda line: line.startswith(DELTA)) - began
            run.until(lambda line: line.startswith(DONE))
        return delta, time.monotonic() - began

    # --- a prompt with the model worker -------------------------------------------------------------------

    def worker(self, server: MessagesServer) -> None:
        """The first and the second prompt of a fresh server, and a whole process, with the real model worker."""
        flags = ["--api-key", "k", "--base-url", server.base_url]
        names = ("zot --json, the whole process", "first prompt of a fresh zot rpc", "second prompt", "third prompt")
        taken: dict[str, list[tuple[float, ...]]] = {name: [] for name in names}
        for number in range(self._fresh_rounds + 1):
            self._report.progress(f"fresh servers, round {number} of {self._fresh_rounds}")
            found = {names[0]: self._asked_once(server, [*zot(), "--json", "--no-session", "--no-stdin", *flags, "hi"])}
            began: float | None = time.monotonic()
            with self._zot("rpc", *flags) as ours:
                for name in names[1:]:
                    server.add(_reply())
                    heard = ours.prompt("hi")
                    asked, began = began or heard.asked, None
                    at = (heard.first, server.requests[-1].at, heard.delta, heard.done)
                    found[name] = tuple(1000 * (moment - asked) for moment in at)
            if number:  # the first round compiles
                for name in names:
                    taken[name].append(found[name])
        table = Table(
            "a prompt with the model worker and a local server: from the request (the start of a process), medians",
            ("", "first record ms", "asks the model ms", "first text ms", "done ms", "% of --json"),
        )
        for name in names:
            ratio = median(mine[3] / peer[3] for mine, peer in zip(taken[name], taken[names[0]], strict=True))
            table.add(name, *[median(column) for column in zip(*taken[name], strict=True)], 100 * ratio)
        self._report.show(table)
        second = median(mine[3] / peer[3] for mine, peer in zip(taken[names[2]], taken[names[0]], strict=True))
        self._claims.add("the second prompt is warm: at most 0.1 x a process", f"{second:.3f} x", second <= 0.1)

    def _asked_once(self, server: MessagesServer, argv: Sequence[str]) -> tuple[float, ...]:
        server.add(_reply())
        began = time.monotonic()
        with Peer(argv, cwd=self._project, env=self._env) as run:
            first = run.until(lambda line: not line.startswith(b'{"type":"session"'))
            delta = run.until(lambda line: line.startswith(DELTA))
            run.until(lambda line: line.startswith(DONE))
        at = (first, server.requests[-1].at, delta, time.monotonic())
        return tuple(1000 * (moment - began) for moment in at)


def _replay_alone(model: ReplayProvider, asked: dict[str, Any]) -> float:
    """Asks the model of the server in this process. Returns the seconds until its last line is taken."""
    began = time.monotonic()
    reply = model.request(asked)
    while reply.has_line():
        reply.take()
    return time.monotonic() - began


def _lines_of(peer: Peer) -> list[bytes]:
    """The lines that answer a prompt, unchanged."""
    peer.send("prompt", message="go")
    found: list[bytes] = []
    while not found or not found[-1].startswith(DONE):
        found.append(peer.line()[1] + b"\n")
    return found


def _reply() -> Reply:
    return events_reply(message_events([text_block(ANSWER, chunks=CHUNKS)]))


def main(argv: list[str] | None = None) -> int:
    options = parse(Path(__file__).stem, __doc__ or "", argv)
    report, claims = Report(Path(__file__).stem, options), Claims()
    with Workshop() as workshop, MessagesServer() as server:
        bench = Bench(report, workshop, claims, quick=options.quick)
        bench.ping()
        bench.replayed()
        bench.worker(server)
        listener(report, workshop, claims, server, quick=options.quick)
        Flood(report, workshop, claims, quick=options.quick).run()
        memory(report, workshop, claims, server, quick=options.quick)
        imports(report, workshop, claims, quick=options.quick)
    report.show(claims.table)
    report.finish()
    return 0 if options.quick else claims.exit_code


if __name__ == "__main__":
    raise SystemExit(main())
