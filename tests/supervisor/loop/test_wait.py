"""While one answer is awaited, its pipe is looked at after each small piece of the others."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, BinaryIO

import pytest

from supervisor.loop.future import Pending
from supervisor.loop.loop import BACKGROUND_READ, FAIR_S, Loop
from supervisor.loop.pipes import LARGE_READ, PipeReader
from tests.support.set_clock import Clock

if TYPE_CHECKING:
    from tests.support.host import Host


FLOODS = {
    "notes": (BACKGROUND_READ, b'{"type":"notify","message":"n"}\n' * 2000),
    "lines that are no frames": (BACKGROUND_READ, b"x\n" * 32768),
    "a line without an end": (LARGE_READ, b"x" * 65536),
}
PIECES = 5
ANSWERS = 10
GATED = """
hello("gated", intercept=["tool_call"])
send(type="ready")
gate = os.open(sys.argv[1], os.O_RDONLY)
for frame in frames():
    os.read(gate, 1)
    send(type="event_intercept_response", id=frame["id"], block=True, reason="seen " + frame["tool_name"])
"""


@pytest.mark.parametrize("flood", FLOODS)
def test_while_a_verdict_is_awaited_a_flood_is_read_in_small_pieces(host: Host, flood: str) -> None:
    """The guard answers once `PIECES` pieces of the flood have been read. Its pipe is looked at after each piece, so
    its answer waits for one piece at most."""
    most, data = FLOODS[flood]
    gate = host.folder / "gate"
    os.mkfifo(gate)
    host.write("flood", f'hello()\nsend(type="ready")\nwhile True: os.write(1, {data!r})')
    host.write("asked", GATED.replace("sys.argv[1]", repr(str(gate))))
    host.start()
    with gate.open("r+b", buffering=0) as opener:
        seen = watch_reads(host, opener)
        for number in range(ANSWERS):
            seen.append(0)
            judgement = host.ask(tool_name=f"t{number}")
            assert (judgement.blocked_by, judgement.reason) == ("asked", f"seen t{number}")
        seen = list(seen)
        assert host.said_of("asked") == []
        host.stop(at_once=True)
    assert len([size for size in seen if size]) >= ANSWERS * PIECES
    assert max(seen) <= most
    for size, following in itertools.pairwise(seen):
        assert not (size and following), "it is looked at after each piece"


def test_others_are_served_before_a_wait_only_if_their_last_service_ended_long_ago() -> None:
    """The service of twenty floods takes longer than `FAIR_S`; the next question does not wait for another one."""
    clock = Clock()
    loop = Loop(clock)
    read, write = os.pipe()
    pending = Pending()
    awaited = PipeReader(loop, read, lambda _: setattr(pending, "done", True), lambda: None)
    served = []
    loop.call_later(0, lambda: setattr(clock, "now", 2 * FAIR_S))
    loop.run_until(lambda: False, loop.clock())
    for pause, is_served in ((FAIR_S / 2, False), (FAIR_S, True)):
        clock.now += pause
        loop.call_later(0, lambda: served.append(True))
        os.write(write, b"answer")
        pending.done, pending.asked_at = False, loop.clock()
        assert loop.wait(pending, awaited, 1.0)
        assert bool(served) is is_served
    awaited.close()
    loop.close()
    os.close(write)


def watch_reads(host: Host, gate: BinaryIO) -> list[int]:
    """Steps of the loop from now on: the bytes of each piece of the flood, and 0 for each look at the awaited pipe.
    Every `PIECES` pieces the gate is opened for an answer."""
    seen: list[int] = []
    flood, awaited = host.extension("flood").child, host.extension("asked").child
    assert flood is not None
    assert awaited is not None
    deliver, look = flood.stdout._sink, awaited.stdout.has_input
    pieces = itertools.count(1)

    def sink(data: bytes) -> None:
        seen.append(len(data))
        deliver(data)
        if next(pieces) % PIECES == 0:
            gate.write(b".")

    def has_input() -> bool:
        seen.append(0)
        return look()

    flood.stdout._sink = sink
    awaited.stdout.has_input = has_input  # type: ignore[method-assign]
    return seen
