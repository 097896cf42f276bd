"""`zot rpc` when its provider or its client does what none should: each fault has an end, and the next prompt works."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from contextlib import suppress

import pytest

from tests.support.extension_folder import extension, folder
from tests.support.messages_server import (
    drop_midway,
    hold_first_byte,
    raw_reply,
    stall_midway,
    text_reply,
    tool_reply,
)
from tests.support.replay_script import Script
from tests.support.rpc_client import end

HELLO = text_reply("Hello there")
STALLED = stall_midway(HELLO, after=4)
"""A reply that stops after its first piece of text."""
MANY = 1_000_000


def replay_flags(zot):
    return "--replay", Script(zot.cwd).answer("Done.").write(zot.folder / "cassette.jsonl")


# --- the provider ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("faulty", "said"),
    [
        (STALLED, "sent nothing for 0.5 s"),
        (drop_midway(HELLO, after=4), "the stream broke off"),
        (raw_reply(b"\x00\xff" * 500), "unreadable stream"),
    ],
    ids=["stalls", "closes", "bytes"],
)
def test_a_faulty_reply_ends_its_prompt_with_an_error_and_the_next_one_works(rpc, server, faulty, said):
    server.add(faulty, text_reply("Fine."))
    with rpc(env={"ZOT_MODEL_IDLE_TIMEOUT": "0.5"}) as running:
        first, second = (running.client.prompt(text) for text in ("a", "b"))
        outcome = end(running)
    assert [line["type"] for line in first][-4:] == ["turn_end", "error", "result", "done"]
    assert said in first[-3]["message"]
    assert (first[-2]["status"], first[-2]["exit_code"]) == ("error", 1)
    assert second[-2]["text"] == "Fine."
    assert outcome.status == 0


@pytest.mark.slow
def test_a_killed_model_worker_ends_its_prompt_with_an_error_and_the_next_one_gets_another(rpc, server):
    server.add(STALLED, text_reply("Fine."))
    with rpc(cold=True) as running:
        client = running.client
        client.ask("prompt", message="a")
        client.until("text_delta")
        os.kill(running.child("model/worker/worker_main"), signal.SIGKILL)
        assert "the model worker ended (signal SIGKILL)" in client.until("error", prompt="p1")["message"]
        client.until("done", prompt="p1")
        assert client.prompt("b")[-2]["text"] == "Fine."
        end(running)


# --- what the client says -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")], ids=["arrays", "objects"])
def test_nesting_without_end_is_an_error_response(rpc, opening, closing):
    deep = opening * MANY + b"1" + closing * MANY
    lines = [
        b'{"type":"ping","id":1,"x":' + deep + b"}",
        b'{"type":"set_messages","id":2,"messages":' + deep + b"}",
        b'{"id":' + deep + b',"type":"ping"}',
        b'{"type":' + deep + b"}",
        deep,
        opening * MANY,
    ]
    with rpc() as running:
        client = running.client
        for line in lines:
            client.send_bytes(line + b"\n")
        assert client.ask("ping")["success"]
        end(running)
    answers = [line for line in client.lines if line["type"] == "response"]
    assert [answer["success"] for answer in answers] == [False] * len(lines) + [True]


def test_half_a_line_at_the_end_is_answered_and_what_came_before_is_carried_out(rpc, server):
    server.add(text_reply("Fine."))
    with rpc() as running:
        running.client.send_bytes(b'{"type":"prompt","message":"go"}\n{"type":"prompt","mess')
        running.process.stdin.close()
        lines = running.client.rest()
        outcome = running.finish()
    answers = [line for line in lines if line["type"] == "response"]
    assert [answer["success"] for answer in answers] == [True, False]
    assert answers[1]["error"].startswith("malformed json")
    assert lines[-2]["text"] == "Fine."
    assert outcome.status == 0


def test_after_a_signal_no_request_is_answered(rpc, server, zot):
    server.add(STALLED)
    made = extension(zot.folder, "ignores_shutdown")
    with rpc("-e", made) as running:
        client = running.client
        client.ask("prompt", message="go")
        client.until("text_delta")
        running.signal(signal.SIGTERM)
        client.until("done")
        with suppress(BrokenPipeError):
            client.send("ping", id="late")
        running.signal(signal.SIGTERM)
        rest = client.rest()
        outcome = running.finish()
    assert [line for line in rest if line["type"] == "response"] == []
    assert (outcome.status, outcome.leftovers) == (130, [])


# --- what stdin and stdout are --------------------------------------------------------------------------------


def test_stdin_may_be_a_terminal(zot):
    ours, theirs = pty.openpty()
    try:
        with zot.start("rpc", *replay_flags(zot), stdin=theirs) as running:
            os.write(ours, b'{"type":"ping","id":1}\n{"type":"prompt","message":"go"}\n\x04')
            outcome = running.finish()
    finally:
        os.close(ours)
        os.close(theirs)
    assert outcome.json_lines[0]["id"] == 1
    assert outcome.json_lines[-2]["text"] == "Done."
    assert (outcome.status, outcome.stderr, outcome.leftovers) == (0, "", [])


def test_a_terminal_that_hangs_up_is_the_end_of_stdin(zot):
    ours, theirs = pty.openpty()
    try:
        with zot.start("rpc", *replay_flags(zot), stdin=theirs) as running:
            os.write(ours, b'{"type":"ping","id":1}\n')
            assert b"pong" in os.read(running.process.stdout.fileno(), 4096)
            os.close(theirs)
            theirs = -1
            os.close(ours)
            ours = -1
            outcome = running.finish()
    finally:
        for fd in (ours, theirs):
            if fd >= 0:
                os.close(fd)
    assert (outcome.status, outcome.leftovers) == (0, [])


@pytest.mark.slow
@pytest.mark.parametrize("closing", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_streams_closed_from_the_start(zot, closing):
    shell = ["/bin/sh", "-c", f'exec "$@" {closing}', "sh", *zot.command]
    made = extension(zot.folder, "echo")
    with open(os.devnull, "rb") as null:
        outcome = zot.run("rpc", *replay_flags(zot), "-e", made, command=shell, stdin=null)
    assert (outcome.status, outcome.stdout, outcome.stderr, outcome.leftovers) == (0, b"", "", [])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_ends_the_server(rpc, zot, server):
    server.add(STALLED)
    made = extension(zot.folder, "echo")
    with open("/dev/full", "wb") as full, rpc("-e", made, stdout=full) as running:
        running.process.stdin.write(b'{"type":"prompt","message":"go"}\n')
        running.process.stdin.flush()
        outcome = running.finish()
    assert outcome.status == 1
    said = [line for line in outcome.warnings if "extension echo" not in line]  # it may not have said its hello yet
    assert said == ["zot: rpc: cannot write to stdout: No space left on device"]
    assert outcome.leftovers == []


# --- a client that dies ---------------------------------------------------------------------------------------

EXTENSION = """
import json, sys
def say(**frame): print(json.dumps(frame), flush=True)
say(type="hello", name="hangs")
say(type="register_command", name="hang", description="Never answers.")
say(type="ready")
for line in sys.stdin:
    if json.loads(line)["type"] == "command_invoked":
        say(type="notify", level="info", message="it hangs")
    if json.loads(line)["type"] == "shutdown":
        break
"""
SLEEP = tool_reply([("bash", {"command": "echo up; exec sleep 300"})])
PROMPT = '{"type":"prompt","message":"go"}\n'


@pytest.mark.parametrize("state", ["starting", "idle", "silent", "streaming", "tools", "queued", "closing", "command"])
def test_a_client_that_dies_takes_all_with_it(rpc, zot, server, state):
    """In each state: both pipes go at the same time, and no signal comes."""
    server.add(*{"silent": [hold_first_byte(HELLO)], "tools": [SLEEP]}.get(state, [STALLED]))
    hangs = folder(zot.folder, "hangs", [sys.executable, "-I", "-S", "-c", EXTENSION])
    with rpc("-e", extension(zot.folder, "silent") if state == "starting" else hangs) as running:
        client = running.client
        client.ask("ping")
        if state != "starting":
            client.until("extension", event="started")
        if state == "command":
            client.send("run_command", name="hang")
            client.until("ext_notify", message="it hangs")
        elif state != "idle":
            for _ in range(3 if state == "queued" else 1):
                client.ask("prompt", message="go")
        if state == "closing":
            running.process.stdin.close()
        if state == "silent":
            server.wait_until_held()
        elif state in {"streaming", "queued", "closing", "tools"}:
            awaited = "tool_progress" if state == "tools" else "text_delta"
            if all(line["type"] != awaited for line in client.lines):  # else it came before the last response
                client.until(awaited)
        running.process.stdin.close()
        running.process.stdout.close()
        outcome = running.finish()
    assert (outcome.status, outcome.leftovers) == (0 if state == "idle" else 130, [])


def test_a_client_that_dies_is_noticed_behind_sockets_too(zot, server):
    """As Node gives its children. Nothing is written while the model is silent; the end of stdin asks to look."""
    server.add(hold_first_byte(HELLO))
    stdin, requests = socket.socketpair()
    lines, stdout = socket.socketpair()
    with stdin, stdout, requests, lines:
        flags = ("--base-url", server.base_url, "--api-key", "k", "--drain-timeout", "1h")
        with zot.start("rpc", *flags, stdin=stdin, stdout=stdout) as running:
            stdin.close()
            stdout.close()
            requests.sendall(PROMPT.encode())
            server.wait_until_held()
            requests.close()
            lines.close()
            outcome = running.finish()
    assert (outcome.status, outcome.leftovers) == (130, [])


def test_stdin_that_ends_while_the_model_is_silent_is_waited_for_no_longer_than_the_drain_timeout(zot, server):
    """Somebody else holds the other end of stdout, so that only stdin tells of the client."""
    server.add(hold_first_byte(HELLO))
    with (zot.folder / "out").open("wb") as out:
        flags = ("--base-url", server.base_url, "--api-key", "k", "--drain-timeout", "300ms")
        with zot.start("rpc", *flags, stdin=subprocess.PIPE, stdout=out) as running:
            running.process.stdin.write(PROMPT.encode())
            running.process.stdin.flush()
            server.wait_until_held()
            running.process.stdin.close()
            outcome = running.finish()
    *_, result, done = (json.loads(line) for line in (zot.folder / "out").read_bytes().splitlines())
    assert "--drain-timeout" in result["reason"]
    assert done["type"] == "done"
    assert (outcome.status, outcome.leftovers) == (0, [])


def test_a_signal_while_extensions_start_ends_the_prompts_that_wait(rpc, zot):
    made = extension(zot.folder, "silent")
    with rpc("-e", made) as running:
        client = running.client
        for text in ("a", "b"):
            client.ask("prompt", message=text)
        running.signal(signal.SIGTERM)
        lines = client.rest()
        outcome = running.finish()
    assert [line["prompt"] for line in lines if line["type"] == "done"] == ["p1", "p2"]
    assert {line["status"] for line in lines if line["type"] == "result"} == {"interrupted"}
    assert (outcome.status, outcome.leftovers) == (130, [])
