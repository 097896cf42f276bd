"""`zot rpc --listen`: many clients at the same time, each with a conversation of its own."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.extension_folder import extension
from tests.support.replay_script import Script
from tests.support.rpc_listener import listening
from wire.exit_codes import Status


def test_each_client_has_a_conversation_of_its_own(zot, server):
    with listening(zot, server) as at:
        assert stat.S_IMODE(os.lstat(at.path).st_mode) == 0o600
        first, second = at.connect(), at.connect()
        first.begin("hang")
        assert second.text("hello") == "answer to hello"
        assert first.ask("get_state")["data"]["busy"]
        assert second.ask("get_state")["data"]["message_count"] == 2
        assert at.pid_of(second) not in (at.pid_of(first), at.running.pid)
        first.send("abort")
        assert first.until("result")["status"] == "interrupted"
        assert first.ask("clear")["success"]
        assert first.text("again") == "answer to again"
        outcome = at.stop()
    assert outcome.status == Status.OK.exit_code
    assert outcome.stdout == b""


def test_many_clients_at_once_replay_the_same_cassette(zot):
    cassette = Script(zot.cwd).answer("Hi.").write(zot.folder / "c.jsonl")
    with listening(zot, None, "--replay", cassette) as at:
        clients = [at.connect() for _ in range(8)]
        with ThreadPoolExecutor(8) as threads:
            texts = list(threads.map(lambda client: client.text("go"), clients))
        assert texts == ["Hi."] * 8
        assert at.stop().status == Status.OK.exit_code


def test_the_model_worker_of_a_conversation_serves_the_next_one(zot, server):
    with listening(zot, server) as at:
        for number in range(3):
            client = at.connect()
            assert client.text(str(number)) == f"answer to {number}"
            client.close()
        assert len({request.connection for request in server.requests}) == 1, "one connection: one worker"
        at.stop()


@pytest.mark.slow
def test_a_token_is_asked_for_and_reaches_no_child(zot, server):
    with listening(zot, server, env={"ZOTCORE_RPC_TOKEN": "secret"}, cold=True) as at:
        without, wrong, right = at.connect(), at.connect(), at.connect()
        without.send("ping")
        assert without.rest()[0]["error"] == "auth required: the first line must be hello with the token"
        wrong.send("hello", token="x")
        assert wrong.rest()[0]["error"] == "invalid token"
        assert right.ask("hello", token="secret")["success"]
        shell = right.ask("call_tool", name="bash", args={"command": "env; ls -l /proc/self/fd"})
        text = shell["data"]["content"][0]["text"]
        assert "ZOT_HOST_TOKEN" in text
        assert "ZOTCORE_RPC_TOKEN" not in text
        assert "socket:" not in text
        for pid in (at.pid_of(right), at.template().pid):
            assert b"secret" not in Path(f"/proc/{pid}/environ").read_bytes()
        at.stop()


def test_a_client_that_sends_no_more_gets_its_answer(zot, server):
    with listening(zot, server) as at:
        client = at.connect()
        client.send("prompt", message="hello")
        client.close_stdin()
        lines = client.rest()
        assert [line["text"] for line in lines if line["type"] == "result"] == ["answer to hello"]
        assert lines[-1]["type"] == "done"
        at.stop()


def test_sessions_are_kept_apart(zot, server):
    with listening(zot, server, "--save-session") as at:
        clients = [at.connect(), at.connect()]
        for client in clients:
            client.text("hello")
        sessions = {client.ask("get_state")["data"]["session"]["id"] for client in clients}
        at.stop()
    assert len(sessions) == len(zot.session_files()) == 2


def test_a_line_of_a_conversation_on_stderr_names_it(zot, server):
    failing = extension(zot.folder, "exits_before_hello", name="failing", restart={"backoff_s": [60, 60]})
    with listening(zot, server, "-e", failing) as at:
        clients = [at.connect(), at.connect()]
        for client in clients:
            client.text("hello")
        pids = [at.pid_of(client) for client in clients]
        outcome = at.stop()
    for pid in pids:
        assert f"\nzot rpc: conversation {pid}: extension failing: " in outcome.stderr
    assert "zot: " not in outcome.stderr


def test_flags_that_fail_only_later_are_told_to_the_client(zot, server):
    with listening(zot, server) as at:
        (zot.home / "config.json").write_text("{")
        lines = at.connect().rest()
        assert [line["success"] for line in lines] == [False]
        assert "config.json" in lines[0]["error"]
        (zot.home / "config.json").write_text("{}")
        assert at.connect().ask("ping")["success"]
        outcome = at.stop()
    assert "a client was not served" in outcome.stderr
