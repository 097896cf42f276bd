"""How a listener and its conversations end: in order, at once, or killed. Nothing is left in any case."""

from __future__ import annotations

import os
import signal
import socket

import psutil
import pytest

from tests.support.extension_folder import extension
from tests.support.lives import is_gone
from tests.support.no_child_left import no_child_left
from tests.support.patience import PATIENCE_S
from tests.support.rpc_listener import listening
from tests.support.zot_process import wait_until
from wire.exit_codes import Status


def begin_gated(zot, at):
    """A client whose prompt waits in a shell command until the gate is opened; returns it and the pids of its
    conversation and its shell."""
    os.mkfifo(zot.cwd / "gate")
    client = at.connect()
    client.send("prompt", message="bash echo $PPID $$ > pids; cat gate")
    pids = wait_until(lambda: (zot.cwd / "pids").exists() and (zot.cwd / "pids").read_text().split())
    return client, [int(pid) for pid in pids]


def test_a_stop_lets_the_running_prompt_end_and_takes_no_new_client(zot, server):
    with listening(zot, server) as at:
        client, _ = begin_gated(zot, at)
        idle = at.connect()
        idle.ask("ping")
        client.ask("prompt", message="never")
        at.running.signal(signal.SIGTERM)
        assert [line["type"] for line in idle.rest()] == ["session"]
        wait_until(lambda: not os.path.lexists(at.path))
        with pytest.raises(FileNotFoundError):
            at.connect()
        (zot.cwd / "gate").write_text("open")
        results = [line for line in client.rest() if line["type"] == "result"]
        assert [(line["status"], line["reason"]) for line in results] == [
            ("ok", ""), ("interrupted", "the server is stopping"),
        ]  # fmt: skip
        outcome = at.running.finish()
    assert (outcome.status, outcome.leftovers) == (Status.OK.exit_code, [])
    assert "SIGTERM: 2 conversations may go on for 30 s; once more to abort" in outcome.stderr


def test_the_drain_has_an_end(zot, server):
    with listening(zot, server, "--drain-timeout", "0") as at:
        client, (conversation, shell) = begin_gated(zot, at)
        at.running.signal(signal.SIGTERM)
        (result,) = [line for line in client.rest() if line["type"] == "result"]
        assert (result["status"], "--drain-timeout" in result["reason"]) == ("interrupted", True)
        outcome = at.running.finish()
    assert (outcome.status, outcome.leftovers) == (Status.OK.exit_code, [])
    assert is_gone(conversation)
    assert is_gone(shell)


def test_a_second_signal_aborts_what_runs(zot, server):
    with listening(zot, server) as at:
        client, (conversation, shell) = begin_gated(zot, at)
        at.running.signal(signal.SIGINT)
        wait_until(lambda: "once more to abort" in at.running.errors())
        at.running.signal(signal.SIGINT)
        (result,) = [line for line in client.rest() if line["type"] == "result"]
        assert result["status"] == "interrupted"
        outcome = at.running.finish()
    assert (outcome.status, outcome.leftovers) == (Status.INTERRUPTED.exit_code, [])
    assert is_gone(conversation)
    assert is_gone(shell)


def test_zot_stop_and_zot_ps_see_it(zot, server):
    with listening(zot, server) as at:
        client = at.connect()
        client.ask("ping")
        shown = zot.run("ps", "--json")
        pids = {host["pid"] for host in shown.json_lines}
        assert {at.running.pid, at.pid_of(client)} <= pids
        assert zot.run("stop", str(at.running.pid)).status == 0
        outcome = at.running.finish()
    assert (outcome.status, outcome.leftovers) == (0, [])


def test_a_killed_conversation_hurts_no_other(zot, server):
    with listening(zot, server, "-e", extension(zot.folder, "echo")) as at:
        client, (conversation, shell) = begin_gated(zot, at)
        started = {each.pid for each in psutil.Process(conversation).children(recursive=True)}
        assert len(started) > 2, "the extension, a shell and its cat"
        other = at.connect()
        other.begin("hang")
        os.kill(conversation, signal.SIGKILL)
        client.rest()
        wait_until(lambda: all(is_gone(pid) for pid in (shell, *started)))
        assert other.ask("get_state")["data"]["busy"]
        assert at.connect().text("hello") == "answer to hello"
        other.close()
        outcome = at.stop()
    assert f"a conversation has ended: its process {conversation} has ended (signal SIGKILL)" in outcome.stderr


def test_a_killed_listener_leaves_nothing_and_the_next_one_takes_its_path(zot, server):
    with no_child_left(), listening(zot, server) as at:
        client, (conversation, shell) = begin_gated(zot, at)
        at.running.process.kill()
        client.rest()
        assert at.running.process.wait() == -signal.SIGKILL
        wait_until(lambda: is_gone(conversation) and is_gone(shell))
        assert at.path.is_socket()
    with listening(zot, server) as at:
        assert at.connect().text("hello") == "answer to hello"
        assert at.stop().status == 0


@pytest.mark.slow
def test_a_killed_template_is_replaced(zot, server):
    with listening(zot, server, cold=True) as at:
        before = at.connect()
        assert before.text("hello") == "answer to hello"
        at.template().kill()
        assert at.connect().text("more") == "answer to more"
        assert before.text("again") == "answer to hello"
        assert at.stop().status == 0


def test_the_service_manager_is_told_and_no_child_takes_itself_for_the_service(zot, server):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(zot.folder / "n"))
        manager.settimeout(PATIENCE_S)
        told = {"NOTIFY_SOCKET": str(zot.folder / "n"), "WATCHDOG_USEC": "20000"}
        with listening(zot, server, env=told) as at:
            first = [manager.recv(1000) for _ in range(3)]
            assert first == [f"READY=1\nSTATUS=serves {at.path}".encode(), b"WATCHDOG=1", b"WATCHDOG=1"]
            env = at.connect().ask("call_tool", name="bash", args={"command": "env"})
            assert "NOTIFY_SOCKET" not in env["data"]["content"][0]["text"]
            at.stop()
        while (last := manager.recv(1000)) == b"WATCHDOG=1":
            pass
        assert last == b"STOPPING=1\nSTATUS=1 conversation to end"


@pytest.mark.slow
def test_a_socket_that_is_removed_is_made_again(zot, server):
    with listening(zot, server) as at:
        client = at.connect()
        client.ask("ping")
        at.path.unlink()
        wait_until(at.path.exists)
        assert at.connect().ask("ping")["success"]
        assert client.ask("ping")["success"]
        at.path.unlink()
        at.path.write_text("mine")
        wait_until(lambda: "no new clients" in at.running.errors())
        assert client.ask("ping")["success"]
        at.running.signal(signal.SIGTERM)
        outcome = at.running.finish()
    assert (outcome.status, outcome.leftovers) == (0, [])
    assert at.path.read_text() == "mine"
