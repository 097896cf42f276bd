"""200,000 small pieces of text to a client that reads at once, to a slow one, and to one that pauses."""

from __future__ import annotations

import math
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.report import Report, Table
from benchmarks.rpc_peer import DELTA, DONE, READ, Peer, line_server, zot_env
from benchmarks.workshop import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.claims import Claims
    from benchmarks.workshop import Workshop

PIECES, QUICK_PIECES = 200_000, 2_000
PIECE = b"word "
ENDLESS = 10**9
"""Pieces of a reply that is aborted."""
ABORT_LIMIT_S = 5.0
"""Seconds after which an abort counts as not answered."""
SLOW_BYTES_S = 1_000_000
SLICE_S = 0.02
SLOW_S, QUICK_SLOW_S = 3.0, 0.1
"""Seconds for which the slow client reads, and the other one pauses, before it aborts."""
EARLY_S = 0.3
"""Seconds after which the fast client aborts its second prompt."""
GROWTH_LIMIT = 16 << 20
"""Bytes by which a server may grow for a client that does not read."""


class Taken(NamedTuple):
    """The lines that a client read, and the server's use meanwhile."""

    seconds: float
    cpu_s: float
    grew: int
    """Bytes: the most in any sample."""
    data: bytes

    @property
    def records(self) -> int:
        return self.data.count(b"\n")

    def pieces(self) -> int:
        """Pieces of text, however many are in one record."""
        return sum(line.count(PIECE) for line in self.data.split(b"\n") if line.startswith(DELTA))


class Aborted(NamedTuple):
    """Seconds from the abort to its response and to the end of the prompt, and what lay before the response."""

    response: float
    done: float
    unread: int


class Flood:
    def __init__(self, report: Report, workshop: Workshop, claims: Claims, *, quick: bool) -> None:
        self._report = report
        self._claims = claims
        self._count = QUICK_PIECES if quick else PIECES
        self._slow_s = QUICK_SLOW_S if quick else SLOW_S
        self._folder: Path = workshop.folder
        self._env = {**zot_env(workshop.folder), "PYTHONPATH": str(ROOT)}

    def run(self) -> None:
        rates = Table(
            f"{self._count:,} pieces of text of {len(PIECE)} bytes, always there",
            ("", "records", "pieces/s", "MB/s", "processor µs per piece", "of floor", "grew MiB"),
        )
        aborts = Table(
            "abort in the midst of them",
            ("", "response ms", "done ms", "KiB unread at the abort"),
        )
        self._report.progress("records to a fast client")
        floor = self._floor()
        rates.add("floor: one write per line", *_rates(floor, self._count, floor))
        with self._server(self._count) as server:
            fast = _take(server, server.read, lambda data: DONE in data[-200:])
            rates.add("zot rpc, a fast client", *_rates(fast, self._count, floor))
        with self._server(ENDLESS) as server:
            server.send("prompt", message="go")
            _read_for(server, EARLY_S)
            prompt = self._abort(server, server.read)
            aborts.add("a fast client", *_shown(prompt))
        self._report.progress("records to a slow client")
        with self._server(ENDLESS) as server:
            slow = _take(server, lambda: _slowly(server), self._after(self._slow_s))
            rates.add("zot rpc, a client that reads 1 MB/s", *_rates(slow, slow.pieces(), floor))
            late = self._abort(server, lambda: _slowly(server))
            aborts.add("a client that reads 1 MB/s, also after it", *_shown(late))
        self._report.progress("records to a client that pauses")
        with self._server(ENDLESS) as server:
            server.send("prompt", message="go")
            _read_for(server, EARLY_S)
            before, used = server.rss(), server.cpu_s()
            time.sleep(self._slow_s)
            grew, used = server.rss() - before, server.cpu_s() - used
            back = self._abort(server, server.read)
            aborts.add(f"a client that has paused {self._slow_s:g} s and reads on", *_shown(back))
        self._report.show(rates)
        self._report.show(aborts)
        most = max(fast.grew, slow.grew, grew)
        self._claims.add(
            "whatever the client, the server grows by 16 MiB at most", f"{most / 2**20:.1f} MiB", most <= GROWTH_LIMIT
        )
        self._claims.add("what a server uses whose client pauses", f"{100 * used / self._slow_s:.1f} % of a core", None)
        self._claims.add(
            "an abort of a fast client is answered within 100 ms",
            f"{1000 * prompt.response:.1f} ms",
            prompt.response <= 0.1,
        )
        self._claims.add(
            "an abort after a pause is answered within 100 ms", f"{1000 * back.response:.1f} ms", back.response <= 0.1
        )

    def _server(self, count: int) -> Peer:
        home = str(self._folder / "home")
        argv = [sys.executable, "-m", "benchmarks.programs.deltas", str(count), home]
        server = Peer(argv, cwd=self._folder, env=self._env)
        server.ask("ping")
        return server

    def _floor(self) -> Taken:
        """A child that has the lines in memory."""
        said = self._folder / "deltas"
        said.write_bytes(b'{"type":"text_delta","delta":"word ","prompt":"p1"}\n' * self._count + DONE + b"}\n")
        with line_server(said) as peer:
            return _take(peer, peer.read, lambda data: DONE in data[-200:])

    def _after(self, seconds: float) -> Callable[[bytes], bool]:
        end = time.monotonic() + seconds
        return lambda _data: time.monotonic() >= end

    def _abort(self, server: Peer, read: Callable[[], bytes]) -> Aborted:
        """Aborts, and reads on until the prompt has ended. Without an answer the server is killed."""
        asked = server.send("abort", id="stop")
        data, response, unread = bytearray(), 0.0, 0
        while True:
            seen = max(len(data) - 200, 0)
            data += read()
            if not response and (at := data.find(b'"id":"stop"', seen)) >= 0:
                response, unread = time.monotonic() - asked, data.rfind(b"\n", 0, at) + 1
            if response and DONE in data[-200:]:
                return Aborted(response, time.monotonic() - asked, unread)
            if time.monotonic() - asked > ABORT_LIMIT_S:
                server.process.kill()
                return Aborted(response or math.inf, math.inf, unread or len(data))


def _take(peer: Peer, read: Callable[[], bytes], ended: Callable[[bytes], bool]) -> Taken:
    """Sends a prompt and reads until `ended` holds of what was read last."""
    before, used, grew = peer.rss(), peer.cpu_s(), 0
    began = looked = peer.send("prompt", message="go")
    pieces = []
    while True:
        pieces.append(read())
        now = time.monotonic()
        if now - looked > 0.05:
            grew, looked = max(grew, peer.rss() - before), now
        if ended(pieces[-1]):
            return Taken(now - began, peer.cpu_s() - used, grew, b"".join(pieces))


def _slowly(peer: Peer) -> bytes:
    time.sleep(SLICE_S)
    return peer.read(int(SLOW_BYTES_S * SLICE_S))


def _read_for(peer: Peer, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        peer.read(READ)


def _rates(taken: Taken, pieces: int, floor: Taken) -> tuple[float | int, ...]:
    each = taken.cpu_s / max(pieces, 1)
    floor_each = floor.cpu_s / floor.records
    return (
        taken.records,
        pieces / taken.seconds,
        len(taken.data) / taken.seconds / 1e6,
        each * 1e6,
        each / floor_each if floor_each else 0.0,
        taken.grew / 2**20,
    )


def _shown(aborted: Aborted) -> tuple[float, ...]:
    return 1000 * aborted.response, 1000 * aborted.done, aborted.unread / 1024
