"""Workers that are permits for nodes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from agent.batch.cluster.grants import GrantSet
from agent.batch.pool.leases import Lease, WorkerConnection
from agent.batch.throttle import Throttle
from wire.batch.node_frames import Broke, FrameError, Grant, Replied, Withdraw

START = {"type": "message_start", "usage": {"input": 1, "output": 0, "cache_read": 0, "cache_write": 0}}
ERROR = {"type": "error", "kind": "rate_limit", "message": "wait", "status": 429}


class Stand:
    def __init__(self, *, is_there: bool = True) -> None:
        self.is_there = is_there
        self.sent: list[Any] = []
        self.lines: list[tuple[str, str, bytes]] = []
        self.failed: list[tuple[str, str]] = []
        self.set = GrantSet(
            self._send,
            on_line=lambda lease, line, raw: self.lines.append((lease.run, line["type"], bytes(raw))),
            on_failed=lambda lease, message: self.failed.append((lease.run, message)),
        )

    def _send(self, frame: Any) -> bool:
        self.sent += [frame] * self.is_there
        return self.is_there

    def grant(self, run: str = "1-1") -> Lease:
        lease = Lease(1, run, f"{run}.1", "m", b"{}", 10, WorkerConnection({}, b""), Throttle(1), 0.0)
        lease.worker = self.set.lease(lease, 1)
        lease.worker.send_once_ready(lease.line)
        return lease


def replied(line: Any, request: str = "1-1.1") -> Replied:
    return Replied(run="1-1", request=request, line=orjson.dumps(line))


def test_a_lease_is_a_grant_and_a_kill_withdraws_it() -> None:
    stand = Stand()
    lease = stand.grant()
    assert (stand.set.leased, lease.worker is not None and lease.worker.is_ready) == (1, True)
    stand.set.kill(lease)
    stand.set.kill(lease)
    assert stand.sent == [Grant(run="1-1", request="1-1.1"), Withdraw(run="1-1", request="1-1.1")]
    assert stand.set.leased == 0


def test_a_request_whose_node_is_gone_was_never_sent() -> None:
    lease = Stand(is_there=False).grant()
    assert lease.worker is not None
    assert not lease.worker.is_ready


def test_only_the_line_of_an_error_is_for_the_run() -> None:
    stand = Stand()
    stand.grant()
    stand.set.replied(replied(START))
    stand.set.replied(replied(ERROR))
    assert stand.lines == [("1-1", "message_start", b""), ("1-1", "error", orjson.dumps(ERROR))]


def test_lines_of_a_request_that_was_given_up_are_dropped() -> None:
    stand = Stand()
    lease = stand.grant()
    stand.set.replied(replied(START, "1-1.0"))
    stand.set.free(lease)
    stand.set.replied(replied(START))
    stand.set.broke(Broke(run="1-1", request="1-1.1", message="died", was_sent=True))
    assert (stand.lines, stand.failed) == ([], [])


@pytest.mark.parametrize("was_sent", [False, True])
def test_a_worker_that_broke_says_whether_it_has_cost_something(*, was_sent: bool) -> None:
    stand = Stand()
    lease = stand.grant()
    stand.set.broke(Broke(run="1-1", request="1-1.1", message="died", was_sent=was_sent))
    assert (stand.failed, stand.set.leased) == ([("1-1", "died")], 0)
    assert lease.worker is not None
    assert lease.worker.is_ready is was_sent


@pytest.mark.parametrize("line", [b"", b"no json", b"[]", b'{"type":"nothing"}', b'{"type":"error"}'])
def test_a_line_that_no_worker_says_is_a_fault_of_the_node(line: bytes) -> None:
    stand = Stand()
    stand.grant()
    with pytest.raises(FrameError, match="a line of a model worker"):
        stand.set.replied(Replied(run="1-1", request="1-1.1", line=line))


def test_the_end_forgets_all() -> None:
    stand = Stand()
    stand.grant()
    assert list(stand.set.stop()) == []
    assert (stand.set.leased, stand.set.children()) == (0, [])
