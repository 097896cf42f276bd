"""How calls of tools end that the client of rpc makes: by an abort, and with the server."""

from __future__ import annotations

import os
import signal

import pytest

from tests.support.callers import text_of
from tests.support.client_calls import call, records_of_calls, serve_calls
from tests.support.extension_folder import folder
from tests.support.faulty_run import PROMPT, program
from tests.support.lives import is_gone
from tests.support.rpc_client import serve
from tests.support.scripted_model import BEGUN, ScriptedModel
from tests.support.zot_process import wait_until


def hanging(place):
    """The arguments of a command that has no end and ignores SIGTERM in a child, and the function for its two pids."""
    told = place / "pids"
    os.mkfifo(told)
    command = f"trap '' TERM; sleep 600 & echo $$ $! > {told}; echo up; wait; sleep 600"
    return {"command": command}, lambda: [int(pid) for pid in told.read_text().split()]


def are_gone(pids):
    return all(map(is_gone, pids))


@pytest.mark.parametrize(
    ("is_busy", "named"),
    [(False, {}), (True, {}), (True, {"prompt": "p1"})],
    ids=["idle", "during a prompt", "with its prompt"],
)
def test_an_abort_ends_a_call_and_its_processes(tmp_path, is_busy, named):
    args, pids = hanging(tmp_path)
    told = []

    def script(client):
        if is_busy:
            client.send("prompt", message="go")
            client.until("text_delta")
        client.send("call_tool", id=1, name="bash", args=args)
        told.extend(pids())
        client.send("abort", **named)
        ended = client.until("response", id=1)["data"]
        assert ended == {
            "is_error": True, "content": [{"type": "text", "text": "aborted: aborted by the client"}],
        }  # fmt: skip
        wait_until(lambda: are_gone(told))
        assert text_of(call(client, "bash", command="echo on")).startswith("$ echo on\n\non\n")

    served = serve_calls(tmp_path, script, replies=(BEGUN,))
    assert served.status == 0
    late = [line["type"] for line in records_of_calls(served) if line["id"] == "client:1"]
    assert late[-1] == "tool_result", "no progress follows the result"


def test_an_abort_of_another_prompt_leaves_it(tmp_path):
    os.mkfifo(tmp_path / "gate")

    def script(client):
        client.send("call_tool", id=1, name="bash", args={"command": "echo up; cat gate"})
        client.until("tool_progress")
        client.ask("abort", prompt="p9")
        (tmp_path / "gate").write_text("on\n")
        assert not client.until("response", id=1)["data"]["is_error"]

    serve_calls(tmp_path, script)


@pytest.mark.parametrize("where", ["guard", "tool"])
def test_an_abort_ends_a_call_that_waits_for_an_extension(tmp_path, where):
    asked = tmp_path / "asked"
    os.mkfifo(asked)
    code = 'hello("hang", intercept=["tool_call"] if WHERE else ())\nsend(type="ready")\nfor frame in frames():\n'
    code += f'    if frame["type"] in ("event_intercept", "tool_call"): open({str(asked)!r}, "w").write("yes")'
    made = program(tmp_path, "hangs", code.replace("WHERE", repr(where == "guard")), timeouts=PROMPT)

    def script(client):
        client.send("call_tool", id=1, name="hang", args={})
        asked.read_text()
        client.send("abort")
        assert text_of(client.until("response", id=1)["data"]) == "aborted: aborted by the client"

    serve_calls(tmp_path, script, made)


def test_an_abort_while_no_prompt_runs_ends_a_command_too(tmp_path):
    asked = tmp_path / "asked"
    os.mkfifo(asked)
    code = 'send(type="hello", name="x")\nsend(type="register_command", name="hang")\nsend(type="ready")\n'
    code += f'for frame in frames(): open({str(asked)!r}, "w").write("yes")'

    def script(client):
        client.send("run_command", id=1, name="hang")
        asked.read_text()
        client.send("abort")
        assert client.until("response", id=1)["error"] == "/hang: extension hangs failed: aborted by the client"

    serve_calls(tmp_path, script, program(tmp_path, "hangs", code, timeouts={**PROMPT, "command": 60.0}))


def test_the_end_of_stdin_lets_a_call_end(tmp_path):
    os.mkfifo(tmp_path / "gate")

    def script(client):
        client.send("call_tool", id=1, name="bash", args={"command": "echo up; cat gate"})
        client.until("tool_progress")
        client.close_stdin()
        wait_until(client.has_no_more_to_say)
        (tmp_path / "gate").write_text("on\n")
        assert not client.until("response", id=1)["data"]["is_error"]
        client.until("tool_result")

    assert serve_calls(tmp_path, script).status == 0


def test_the_end_of_stdin_ends_a_call_after_the_time_to_drain(tmp_path):
    args, pids = hanging(tmp_path)
    told = []

    def script(client):
        client.send("call_tool", id=1, name="bash", args=args)
        told.extend(pids())
        client.close_stdin()
        text = text_of(client.until("response", id=1)["data"])
        assert text.startswith("aborted: stdin has ended, and 0.2 s later this was not done")

    assert serve_calls(tmp_path, script, drain_s=0.2).status == 0
    assert are_gone(told)


@pytest.mark.parametrize("how", ["signal", "stdout"])
def test_the_end_of_the_server_leaves_nothing_of_a_call(tmp_path, how):
    args, pids = hanging(tmp_path)
    told = []

    def script(client):
        client.send("call_tool", id=1, name="bash", args=args)
        told.extend(pids())
        if how == "stdout":
            client.close_stdout()
        else:
            os.kill(os.getpid(), signal.SIGTERM)
            assert text_of(client.until("response", id=1)["data"]) == "aborted: interrupted by SIGTERM"

    assert serve_calls(tmp_path, script).status == 130
    assert are_gone(told)


def test_a_required_extension_that_is_missing_ends_calls_too(tmp_path):
    """No guard is asked: the one that starts has until its intercept timeout, and is gone before."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    argv = ["/bin/sh", "-c", f"read _ < {gate}; exit 3"]
    made = folder(tmp_path, "lost", argv, required=True, restart={"policy": "temporary"}, timeouts=PROMPT)

    def script(client):
        client.send("call_tool", id=1, name="bash", args={"command": "exec sleep 600"})
        client.ask("ping")
        gate.write_text("\n")
        text = text_of(client.until("response", id=1)["data"])
        assert text.startswith("aborted: extension lost is required and could not be started")
        client.rest()

    served = serve(tmp_path, ScriptedModel(), script, extensions=(str(made),), extension_wait=60.0, drain_s=60.0)
    assert served.status == 9
