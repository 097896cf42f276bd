"""The processes of `zot rpc` are killed at random moments: the client sees a clear end, and no process is left.

A few moments in the suite, and 10 of each kind among the slow tests. A failure says the seed, which `ZOT_TEST_SEED`
sets again; the machine decides the rest.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import time

import pytest

from tests.support.extension_folder import extension
from tests.support.marked_processes import marked_pids
from tests.support.messages_server import text_block, tool_reply
from tests.support.messages_server.replies import Reply, Send, message_events, sse
from tests.support.rpc_client import RpcClient
from tests.support.warm_start import MARK
from tests.support.zot_process import wait_until

SEED = int(os.environ.get("ZOT_TEST_SEED", "0")) or random.randrange(1, 10**6)
MOMENTS = pytest.mark.parametrize("moments", [2, pytest.param(10, marks=pytest.mark.slow)])
PROMPT = '{"type":"prompt","message":"go"}\n'


@pytest.fixture
def busy(server):
    """A model that calls a tool, and then answers with a text in many pieces."""
    text = Reply(tuple(Send(sse(event)) for event in message_events([text_block("word " * 400, chunks=400)])))
    calls = [("bash", {"command": "(sleep 300 &) ; sleep 0.05"}), ("echo", {"text": "hi"})]

    def otherwise(request):
        last = request.body["messages"][-1]["content"]
        is_result = isinstance(last, list) and last[0].get("type") == "tool_result"
        return text if is_result else tool_reply(calls)

    server.otherwise = otherwise
    return server


def wait(seconds: float) -> None:
    """The moment of the fault, not a wait for anything."""
    select.select([], [], [], seconds)


def read_for(file, seconds: float) -> bytes:
    """Returns the output up to the moment of the fault."""
    output, end = b"", time.monotonic() + seconds
    while select.select([file], [], [], max(0.0, end - time.monotonic()))[0]:
        output += os.read(file.fileno(), 1 << 16)
    return output


def check_nothing_left(running, what: str) -> None:
    wait_until(lambda: not marked_pids(MARK, running._mark))
    print(what, "nothing left")


@MOMENTS
def test_the_server_is_killed_at_any_moment(zot, busy, moments):
    """The client reads whole lines, perhaps half a last one, and then the end."""
    print("seed", SEED)
    chance = random.Random(SEED)
    made = extension(zot.folder, "echo")
    for number in range(moments):
        moment = chance.uniform(0, 0.7)
        flags = ("--base-url", busy.base_url, "--api-key", "k", "-e", made)
        with zot.start("rpc", *flags, stdin=subprocess.PIPE) as running:
            running.process.stdin.write((PROMPT * 20).encode())
            running.process.stdin.flush()
            output = read_for(running.process.stdout, moment)
            running.process.kill()
            output += running.process.stdout.read()
            *whole, _half = output.split(b"\n")
            for line in whole:
                assert isinstance(json.loads(line), dict)
            running.process.wait()
            running._wait_for_reaper()
            check_nothing_left(running, f"{number}: {moment:.3f} s, {len(whole)} lines:")


@pytest.mark.slow
@MOMENTS
def test_the_client_is_killed_at_any_moment(zot, busy, moments):
    print("seed", SEED)
    chance = random.Random(SEED)
    made = extension(zot.folder, "echo")
    server = [*zot.command, "rpc", "--base-url", busy.base_url, "--api-key", "k", "-e", str(made)]
    command = [sys.executable, "-I", "-S", "-c", STARTS_AND_READS, PROMPT * 20]
    for number in range(moments):
        moment = chance.uniform(0, 1.2)
        with zot.start(command=[*command, *server], cold=True, stdout=subprocess.DEVNULL) as client:
            wait(moment)
            client.process.kill()
            client.process.wait()
            began = time.monotonic()
            check_nothing_left(client, f"{number}: {moment:.3f} s:")
            print(f"after {time.monotonic() - began:.3f} s")


STARTS_AND_READS = """
import os, subprocess, sys
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
server.stdin.write(sys.argv[1].encode())
server.stdin.flush()
while os.read(server.stdout.fileno(), 65536):
    pass
"""


def check_end(records) -> str:
    """Checks how a prompt ended; returns the status."""
    errors = [line["message"] for line in records if line["type"] == "error"]
    (result,) = [line for line in records if line["type"] == "result"]
    assert [line["type"] for line in records[-2:]] == ["result", "done"]
    assert errors == ([result["reason"]] if result["status"] == "error" else [])
    for error in errors:
        assert "the model worker ended (signal SIGKILL)" in error
    return result["status"]


@pytest.mark.slow
@MOMENTS
def test_the_model_worker_is_killed_at_any_moment(zot, busy, moments):
    """The prompt that runs ends with an answer or with an error, and the next one has an answer."""
    print("seed", SEED)
    chance = random.Random(SEED)
    made = extension(zot.folder, "echo")
    flags = ("--base-url", busy.base_url, "--api-key", "k", "-e", made)
    with zot.start("rpc", *flags, stdin=subprocess.PIPE) as running:
        client = RpcClient.of(running)
        client.prompt("warm up")
        ended = {"ok": 0, "error": 0}
        for _ in range(moments):
            prompt = client.ask("prompt", message="go")["data"]["prompt"]
            wait(chance.uniform(0, 0.1))
            worker = running.find_child("zot_template.py") or running.find_child("model/worker/worker_main")
            if worker is not None:
                os.kill(worker, signal.SIGKILL)
            first = len(client.lines)
            client.until("done", prompt=prompt)
            hit = check_end([line for line in client.lines[first:] if line.get("prompt") == prompt])
            if hit == "ok":  # the worker may have been idle, and the next prompt be the first to notice
                hit = check_end(client.prompt("and now?"))
            ended[hit] += 1
            assert check_end(client.prompt("and now?")) == "ok"
        print(ended)
        assert ended["error"] or moments < 10
        running.process.stdin.close()
        client.rest()
        assert running.process.wait() == 0
        check_nothing_left(running, "at the end")
