"""Clients of the control socket that misbehave hurt only themselves."""

from __future__ import annotations

import errno
import json
import os
import socket

import pytest

from supervisor.control import connection, listener, requests
from supervisor.control.connection import HIGH_WATER, OUTBOX_LIMIT, STUCK_S, ControlConnection
from supervisor.loop.loop import Loop
from tests.support.control_peer import Serving
from tests.support.patience import PATIENCE_S

CALL = {"type": "tool_call", "name": "echo", "args": {}}


def bystander_is_served(serving) -> None:
    """A second client is answered."""
    other = serving.client()
    assert other.ask(type="info", id="bystander")["id"] == "bystander"
    other.close()


def test_the_calls_of_a_client_that_vanishes_are_cancelled(serving):
    client = serving.client()
    client.say({**CALL, "id": "1"}, {**CALL, "id": "2"})
    serving.until(lambda: len(serving.served.asked) == 2)
    client.close()
    serving.until(lambda: serving.server.clients == 0)
    assert all("it has gone" in asked.cancelled for asked in serving.served.asked)
    for asked in serving.served.asked:
        asked.answer("too late")  # as the supervisor does after a cancellation
    bystander_is_served(serving)


def test_a_client_that_vanishes_while_it_watches_is_dropped(serving):
    client = serving.client()
    client.ask(type="watch", id="w", notices=True, stats_s=0.1)
    client.close()
    serving.until(lambda: serving.server.clients == 0)
    serving.server.notice("alpha", "failed", "x")
    bystander_is_served(serving)


def test_a_client_that_ends_its_side_still_gets_its_answers(serving):
    client = serving.client()
    client.write(b'{"type":"info","id":"1"}\n' + json.dumps({**CALL, "id": "2"}).encode())  # and no line feed
    client.socket.shutdown(socket.SHUT_WR)
    assert client.replies(1)[0]["id"] == "1"
    serving.until(lambda: serving.served.asked)
    assert not client.ended
    serving.served.asked[0].answer("there you are")
    assert client.replies(1)[0]["id"] == "2"
    client.wait_for_end()
    assert serving.server.clients == 0


def test_a_client_that_ends_its_side_and_then_vanishes_is_dropped(serving):
    client = serving.client()
    client.say({**CALL, "id": "1"})
    client.socket.shutdown(socket.SHUT_WR)
    serving.until(lambda: serving.served.asked)
    client.close()
    serving.until(lambda: serving.server.clients == 0)
    assert serving.served.asked[0].cancelled


def test_a_client_that_never_reads_is_read_no_more_and_then_dropped(serving, monkeypatch):
    monkeypatch.setattr(connection, "WORK_S", 10**9)  # however fast the machine is
    serving.served.padding = "x" * 100_000
    client = serving.client()
    lines = b'{"type":"get_stats","id":"1"}\n' * 100
    try:
        for _ in range(1000):  # a kernel's buffers and the host's are full long before
            client.socket.send(lines)
            serving.loop.run_until(lambda: False, serving.loop.clock())
    except BlockingIOError:
        pass
    (session,) = serving.server._clients
    assert HIGH_WATER < session._connection.outbox.queued < HIGH_WATER + 1_000_000
    bystander_is_served(serving)
    serving.skew += STUCK_S + 1
    serving.until(lambda: serving.server.clients == 0)
    bystander_is_served(serving)


def test_a_client_is_dropped_when_too_many_answers_wait(serving):
    client = serving.client()
    client.say(*({**CALL, "id": str(number)} for number in range(40)))
    serving.until(lambda: len(serving.served.asked) == 40)
    (session,) = serving.server._clients
    for asked in serving.served.asked:
        if session._connection.is_open:
            asked.answer("x" * (OUTBOX_LIMIT // 20))
    serving.until(lambda: serving.server.clients == 0)
    assert session._connection.outbox.queued == 0
    assert [request.cancelled is None for request in serving.served.asked].count(False) > 10
    bystander_is_served(serving)


def test_a_client_that_is_behind_misses_notices_and_no_answers(serving):
    client = serving.client()
    client.ask(type="watch", id="w", notices=True)
    client.say({**CALL, "id": "1"})
    serving.until(lambda: serving.served.asked)
    serving.served.asked[0].answer("x" * (HIGH_WATER * 2))
    for _ in range(1000):
        serving.server.notice("alpha", "warning", "y" * 500)
    client.say({"type": "info", "id": "2"})
    answer, info = client.replies(2)
    assert (answer["id"], info["id"]) == ("1", "2")


def test_a_slow_reader_gets_the_whole_answer(serving):
    client = serving.client()
    client.say(*({**CALL, "id": str(number)} for number in range(10)))
    serving.until(lambda: len(serving.served.asked) == 10)
    for asked in serving.served.asked:
        asked.answer("x" * 1_000_000)
    for number in range(10):
        assert client.replies(1)[0]["id"] == str(number)
        serving.skew += STUCK_S * 0.8  # patience is from the last byte that it took


def test_ten_megabytes_in_one_line_are_a_request(serving):
    client = serving.client()
    client.write(json.dumps({**CALL, "id": "big", "args": {"text": "x" * 10_000_000}}).encode() + b"\n")
    serving.until(lambda: serving.served.asked)
    assert len(serving.served.asked[0].what[2]["text"]) == 10_000_000
    serving.served.asked[0].answer("y" * 10_000_000)
    assert len(client.replies(1)[0]["content"][0]["text"]) == 10_000_000


def test_a_line_over_the_limit_is_dropped_and_named(serving):
    client = serving.client()
    client.write(b'{"type":"tool_call","id":"huge","name":"' + b"x" * (17 << 20) + b'"}\n{"type":"info","id":"next"}\n')
    error, info = client.replies(2)
    assert (error["type"], error["id"]) == ("error", "huge")
    assert "over the limit of 16777216 bytes" in error["message"]
    assert info["id"] == "next"


def test_half_a_line_does_not_hold_up_other_clients(serving):
    halves = [serving.client() for _ in range(10)]
    for half in halves:
        half.write(b'{"type":"inf')
    bystander_is_served(serving)
    for half in halves:
        half.write(b'o","id":"1"}\n')
        assert half.replies(1)[0]["id"] == "1"


@pytest.mark.parametrize("unlimited", ["LINES_PER_PASS", "WORK_S"])
def test_a_flood_of_expensive_requests_does_not_starve_other_clients(serving, monkeypatch, unlimited):
    """All lines come at once; other clients are answered in between. Each of the two limits does it."""
    monkeypatch.setattr(connection, unlimited, 10**9)
    flood = serving.client()
    other = serving.client()
    flood.write(b'{"type":"registered","id":"f"}\n' * 2000)
    other.say({"type": "info", "id": "between"})
    serving.until(lambda: other._pull() >= 1)
    (busy,) = [client for client in serving.server._clients if client._connection._lines]
    assert len(busy._connection._lines) > 100
    assert len(flood.replies(2000)) == 2000


def test_a_flood_of_garbage_is_answered_line_by_line(serving):
    client = serving.client()
    client.write(os.urandom(200_000).replace(b"\n", b"") + b"\n" + b"\x00\n" * 3000 + b'{"type":"info","id":"z"}\n')
    replies = client.replies(3002)
    assert {reply["type"] for reply in replies[:-1]} == {"error"}
    assert replies[-1]["id"] == "z"


def test_requests_under_way_are_limited(serving, monkeypatch):
    monkeypatch.setattr(requests, "REQUESTS_LIMIT", 3)
    client = serving.client()
    client.say(*({**CALL, "id": str(number)} for number in range(4)))
    (refused,) = client.replies(1)
    assert (refused["id"], refused["message"]) == ("3", "3 requests of yours are under way; wait for answers first")
    serving.served.asked[0].answer("done")
    client.replies(1)
    client.say({**CALL, "id": "again"})
    serving.until(lambda: len(serving.served.asked) == 4)


def test_clients_are_limited(serving, monkeypatch):
    monkeypatch.setattr(serving.server._listener, "_limit", 2)
    first, second = serving.client(), serving.client()
    for end in (first, second):
        assert end.ask(type="info", id="1")["id"] == "1"
    third = serving.client()
    assert third.replies(1) == [{"type": "error", "message": "this host has 2 clients, the maximum; try again later"}]
    third.wait_for_end()
    first.close()
    serving.until(lambda: serving.server.clients == 1)
    bystander_is_served(serving)


def test_another_user_is_refused(tmp_path):
    with Serving(tmp_path / "run", peer_uid=lambda _sock: os.geteuid() + 1) as serving:
        client = serving.client()
        (refusal,) = client.replies(1)
        assert refusal["message"] == f"this host belongs to user {os.geteuid()}, and serves no other user"
        client.wait_for_end()
        assert serving.server.clients == 0


def test_a_system_that_does_not_tell_the_user_relies_on_the_folder(tmp_path):
    with Serving(tmp_path / "run", peer_uid=lambda _sock: None) as serving:
        bystander_is_served(serving)


def test_without_descriptors_new_clients_wait(serving, monkeypatch):
    """A listening socket that cannot be emptied is readable all the time: it must not keep the loop busy."""
    listening = serving.server._listener._acceptor
    real = listening.listener

    class Exhausted:
        accepts = 0

        def fileno(self) -> int:
            return real.fileno()

        def accept(self):
            self.accepts += 1
            raise OSError(errno.EMFILE, "Too many open files")

        def close(self) -> None:
            real.close()

    exhausted = Exhausted()
    monkeypatch.setattr(listening, "listener", exhausted)
    client = serving.client()
    serving.until(lambda: exhausted.accepts)
    for _ in range(5):
        serving.loop.run_until(lambda: False, serving.loop.clock())
    assert exhausted.accepts == 1
    monkeypatch.setattr(listening, "listener", real)
    serving.skew += listener.ACCEPT_AGAIN_S
    assert client.ask(type="info", id="1")["id"] == "1"


def test_a_client_is_read_within_the_budget_of_one_pass(serving, monkeypatch):
    monkeypatch.setattr(connection, "LINES_PER_PASS", 1)
    client = serving.client()
    client.write(b'{"type":"info","id":"1"}\n' * 50)
    assert len(client.replies(50)) == 50


def test_a_paused_connection_hands_over_its_lines_later():
    loop, got = Loop(), []
    ours, theirs = socket.socketpair()

    def on_line(line):
        got.append((bytes(line), loop.clock()))
        if len(got) in (1, 3):
            connection.pause(0.01)

    connection = ControlConnection(loop, ours, on_line=on_line, on_gone=lambda _reason: None, is_idle=lambda: False)
    try:
        theirs.sendall(b"1\n2\n3\n")
        assert loop.run_until(lambda: len(got) == 3, loop.clock() + PATIENCE_S)
        theirs.sendall(b"4\n")
        assert loop.run_until(lambda: len(got) == 4, loop.clock() + PATIENCE_S)
    finally:
        connection.close()
        theirs.close()
        loop.close()
    assert [line for line, _ in got] == [b"1", b"2", b"3", b"4"]
    times = [at for _, at in got]
    assert times[1] - times[0] >= 0.01
    assert times[3] - times[2] >= 0.01
