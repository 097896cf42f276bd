"""A client that does not behave costs its own conversation only."""

from __future__ import annotations

import socket

from agent.listener.order import refusal_line
from supervisor.control.listener import SocketListener
from supervisor.control.named_socket import listen_at
from supervisor.loop.loop import Loop
from tests.support.lives import is_gone
from tests.support.rpc_listener import SocketClient, listening
from tests.support.zot_process import wait_until
from wire.rpc.request_lines import LINE_LIMIT


def test_a_client_that_says_nothing_or_half_a_line_keeps_no_other_waiting(zot, server):
    with listening(zot, server) as at:
        silent, half, good = at.connect(), at.connect(), at.connect()
        half.send_bytes(b'{"type":"pi')
        assert good.text("hello") == "answer to hello"
        half.send_bytes(b'ng"}\n')
        assert half.until("response")["data"] == {"pong": True}
        half.send_bytes(b'{"type":"pi')
        half.close_stdin()
        (error,) = [line["error"] for line in half.rest() if line["type"] == "response"]
        assert error.startswith("malformed json")
        silent.close()
        assert good.ask("ping")["success"]
        at.stop()


def test_lines_that_are_no_requests_are_answered(zot, server):
    with listening(zot, server) as at:
        client = at.connect()
        client.send_bytes(b"GET / HTTP/1.1\r\n\xff\xfe\n" + b"x" * (LINE_LIMIT + 1) + b"\n")
        errors = [client.until("response")["error"] for _ in range(3)]
        assert all(errors)
        assert client.ask("ping")["success"]
        at.stop()


def test_the_prompt_of_a_client_that_goes_away_is_aborted(zot, server):
    with listening(zot, server) as at:
        client = at.connect()
        client.send("prompt", message="bash echo $PPID $$ > pids; exec sleep 1000")
        conversation, tool = map(int, wait_until(lambda: _read(zot.cwd / "pids")).split())
        client.close()
        wait_until(lambda: is_gone(conversation) and is_gone(tool))
        assert at.connect().ask("ping")["success"]
        at.stop()


def test_one_that_first_says_that_it_sends_no_more_is_noticed_when_it_goes(zot, server):
    with listening(zot, server, "--drain-timeout", "1h") as at:
        client = at.connect()
        client.send("prompt", message="bash echo $PPID $$ > pids; exec sleep 1000")
        conversation, tool = map(int, wait_until(lambda: _read(zot.cwd / "pids")).split())
        client.close_stdin()
        assert not is_gone(tool)
        client.close()
        wait_until(lambda: is_gone(conversation) and is_gone(tool))
        at.stop()


def test_a_client_that_does_not_read_delays_no_other(zot, server):
    with listening(zot, server) as at:
        deaf, good = at.connect(), at.connect()
        deaf.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.send("prompt", message="long 8")
        assert good.text("hello") == "answer to hello"
        deaf.close()
        at.stop()


def test_there_is_a_maximum_of_clients_and_the_next_one_is_told(tmp_path):
    loop = Loop()
    kept = []
    listener = SocketListener(loop, 1, kept.append, lambda _sock: None, who="this server", refusal=refusal_line)
    listener.open(listen_at(tmp_path / "s"), tmp_path / "s")
    try:
        first = SocketClient(tmp_path / "s")
        loop.run_until(lambda: bool(kept))
        listener.clients = 1
        second = SocketClient(tmp_path / "s")
        loop.run_until(lambda: True)
        loop.run_until(lambda: False, loop.clock())
        (line,) = second.rest()
        assert line == {
            "type": "response", "command": "", "success": False,
            "error": "this server has 1 clients, the maximum; try again later",
        }  # fmt: skip
        for client in (first, second):
            client.close()
    finally:
        listener.close()
        loop.close()
        for sock in kept:
            sock.close()


def _read(path):
    return path.exists() and path.read_text().endswith("\n") and path.read_text()
