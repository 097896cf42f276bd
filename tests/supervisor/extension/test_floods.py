"""Whatever an extension floods the host with: a sound one is still served, memory and disk stay bounded, and the user
is told in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.host import Host

READY = 'hello()\nsend(type="ready")\n'
FLOOD = READY + "data = %s\nwhile True: os.write(%d, data)"
CALLS = 20
FLOODS = {
    "stderr": (2, 'b"e" * 65536'),
    "empty lines": (1, 'b"\\n" * 65536'),
    "junk lines": (1, 'b"x\\n" * 32768'),
    "one endless line": (1, 'b"x" * 65536'),
    "unknown frames": (1, 'b\'{"type":"a"}\\n\' * 5000'),
    "bad frames": (1, 'b\'{"type":"notify","message":5}\\n\' * 2000'),
    "notes": (1, 'b\'{"type":"notify","message":"x"}\\n\' * 2000'),
    "large notes": (1, 'b\'{"type":"notify","message":"\' + b"x" * 4_000_000 + b\'"}\\n\''),
    "answers to nobody": (1, 'b\'{"type":"tool_result","id":"1"}\\n\' * 2000'),
    "tools with large schemas": (
        1,
        'b\'{"type":"register_tool","name":"a","schema":{"enum":[\' + b"1," * 100_000 + b"1]}}\\n"',
    ),
    "subscriptions": (
        1,
        'json.dumps({"type": "subscribe", "events": list(map(str, range(50_000)))}).encode() + b"\\n"',
    ),
    "bytes that are not UTF-8": (1, 'b\'{"type":"notify","message":"\' + b"\\xff" * 500_000 + b\'"}\\n\''),
    "frames nested without end": (1, 'b\'{"type":"ready","x":\' + b"[" * 1_000_000 + b"\\n"'),
}


@pytest.fixture(autouse=True)
def healthy(host: Host) -> Iterator[None]:
    """A sound extension is always there, and works to the end."""
    host.add("echo", name="healthy")
    yield
    assert host.text("echo", text="still here") == "still here"
    host.stop(at_once=True)  # those that flood do not hear a polite request
    assert host.said_of("healthy") == []


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_starves_nobody_and_is_kept_nowhere(host: Host, flood: str):
    descriptor, data = FLOODS[flood]
    host.write("flood", FLOOD % (data, descriptor))
    host.start()
    before = psutil.Process().memory_info().rss
    slowest = max(host.timed(host.text, "echo", text="x")[1] for _ in range(CALLS))
    host.until(lambda: descriptor == 2 or host.cost("flood").bytes_in > 1_000_000)
    host.supervisor.sample()
    assert slowest < 2.0
    assert psutil.Process().memory_info().rss - before < 128 * 1024 * 1024
    host.loop.run_until(lambda: False, host.loop.clock() + 0.05)
    logs = list((host.folder / "logs").glob("ext-flood.log*"))
    assert sum(path.stat().st_size for path in logs) <= 5 * 1024 * 1024 + 65536
    assert len(host.said_of("flood")) <= 11
    assert len([note for note in host.notes if note[0] == "flood"]) < 200
    assert all(len(line) < 1000 and line.isprintable() for _, line in host.said_of("flood"))
