"""Batches on node programs whose runs ask a server: the driver keeps one throttle, and counts what is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.batch_place import when
from tests.support.messages_server.replies import hold_first_byte, http_error, text_reply
from tests.support.messages_server.server import MessagesServer
from tests.support.node_place import NodePlace
from wire.batch import records
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent.batch.batch import Batch


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as server:
        yield server


@pytest.fixture
def place(tmp_path: Path) -> NodePlace:
    return NodePlace(tmp_path)


def test_keys_are_the_nodes_own(place: NodePlace, server: MessagesServer) -> None:
    server.otherwise = lambda _request: text_reply("answer")
    tasks, given = place.asking(server, 4)
    end = place.run(tasks, run_program=None, **given)
    assert (end.exit_code, end.statuses) == (0, {"ok": 4})
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer of-the-nodes"}
    found = [one for outcomes in place.ends().values() for one in outcomes]
    assert {one.node for one in found} == {"n1", "n2"}
    assert all((one.text, one.requests, one.reserved_usd) == ("answer", 1, 0.0) for one in found)


def test_a_refusal_for_a_rate_limit_holds_all_nodes_back(place: NodePlace, server: MessagesServer) -> None:
    server.add(http_error(429, retry_after=2))
    server.otherwise = lambda _request: text_reply("answer")
    tasks, given = place.asking(server, 4)
    end = place.run(tasks, run_program=None, warm_cache=False, **given)
    assert (end.exit_code, end.statuses) == (0, {"ok": 4})
    refused, *others = server.requests
    late = [request for request in others if request.at > refused.at + 1.0]
    assert all(request.at >= refused.at + 1.9 for request in late), "no node asks while the account must wait"
    assert sum(one.rate_limited for found in place.ends().values() for one in found) == 1
    assert any(isinstance(told, records.TaskPaused) for told in place.told)


def test_a_node_is_lost_in_mid_reply_and_its_spend_counts_once(place: NodePlace, server: MessagesServer) -> None:
    server.add(hold_first_byte(text_reply("never")))
    server.otherwise = lambda _request: text_reply("answer")

    def disturb(batch: Batch) -> None:
        def kill() -> None:
            asked = str(server.requests[0].body)
            (node,) = [view.node for view in batch.view().runs if f"task {view.task[1:]}" in asked]
            place.carrier.kill_node(node)

        when(batch, lambda: bool(server.requests), kill)

    tasks, given = place.asking(server, 4)
    end = place.run(tasks, run_program=None, warm_cache=False, do=disturb, **given)
    server.release()
    assert (end.exit_code, end.statuses) == (0, {"ok": 4})
    found = place.ends(final=False)
    lost = [one for outcomes in found.values() for one in outcomes if one.status is TaskStatus.INTERRUPTED]
    assert lost
    assert all("was lost: the node program ended (signal SIGKILL)" in one.reason for one in lost)
    assert all(one.exit_status is None for one in lost)
    counted = [one.lost.requests for one in lost if one.lost is not None]
    # A request counts once a node may send it: whether the lost one has sent it, nobody knows.
    assert len(server.requests) - 4 <= sum(counted) <= len(lost)
    assert set(counted) == {1}
    assert end.reserved_usd == pytest.approx(sum(one.reserved_usd for one in lost))
