"""The worker starts with a part of the SDK, and gets the whole of it when anything is amiss."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from agent.model.sdk_import.stand_ins import LEFT_OUT
from tests.support.messages_server import MessagesServer, http_error, text_reply, tool_reply
from tests.support.model_worker_process import ROOT, WorkerProcess, text_of

LOADED = """
import json, sys
from agent.model.sdk_import import load, stand_ins
{before}
why = load.load_sdk()
real = [name for name, module in sys.modules.items() if name.startswith("anthropic.") and stand_ins.is_left_out(name)
        and getattr(module, "__file__", None)]
print(json.dumps([why, load.has_stand_ins(), len(real), stand_ins.touched]))
"""


def loaded(before: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LOADED.format(before=before)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
    )


def test_what_is_left_out_is_not_loaded_and_nothing_of_it_is_used():
    done = loaded()
    assert json.loads(done.stdout) == ["", True, 0, []], done.stderr


@pytest.mark.slow
def test_a_part_that_is_needed_after_all_loads_the_whole_sdk():
    done = loaded("stand_ins.LEFT_OUT['anthropic._streaming'] = ''")
    why, has_stand_ins, real, touched = json.loads(done.stdout)
    assert "which is left out" in why
    assert (has_stand_ins, touched) == (False, [])
    assert real > 100


REHEARSED = """
from agent.model.sdk_import import load, rehearsal
load.load_sdk()
assert load.has_stand_ins()
rehearsal._CONTENT[2]["text"] = "other"
rehearsal.rehearse()
"""


def test_a_reply_that_is_read_wrongly_fails_the_rehearsal():
    done = subprocess.run(
        [sys.executable, "-c", REHEARSED], capture_output=True, text=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}
    )
    assert "RehearsalFailedError: content: " in done.stderr


TOUCHED_LATER = """
import runpy, sys
from agent.model.sdk_import import load
load.load_sdk()
import anthropic
from anthropic.types import Message
from anthropic.resources.messages import Messages
real = Messages.create
def create(self, **params):
    if not {after_sending}:
        Message.model_fields
    try:
        return real(self, **params)
    finally:
        if {after_sending} and load.has_stand_ins():
            Message.model_fields
Messages.create = create
runpy.run_path(sys.argv[1], run_name="__main__")
"""


class TouchingWorker(WorkerProcess):
    after_sending = False

    def _start(self, argv: list[str], env: dict[str, str]) -> None:
        program = TOUCHED_LATER.format(after_sending=self.after_sending)
        super()._start([sys.executable, "-c", program, argv[-1]], {**env, "PYTHONPATH": str(ROOT)})


class LateTouchingWorker(TouchingWorker):
    after_sending = True


@pytest.mark.slow
def test_a_stand_in_that_is_touched_before_the_request_has_left_loads_the_whole_sdk():
    with MessagesServer(text_reply("one"), text_reply("two")) as server, TouchingWorker(server.base_url) as worker:
        pid = worker.process.pid
        first, second = worker.start(), worker.start()
        assert text_of(worker.finish(first)) == "one"
        assert text_of(worker.finish(second)) == "two", "a line that was read already is not lost"
        assert len(server.requests) == 2, "sent once each"
        assert worker.process.pid == pid
        assert worker.process.poll() is None


@pytest.mark.slow
def test_a_request_that_has_left_is_not_sent_twice_for_a_stand_in():
    with MessagesServer(text_reply("one"), text_reply("two")) as server, LateTouchingWorker(server.base_url) as worker:
        error = worker.ask()[-1]
        assert (error["type"], error["kind"]) == ("error", "protocol")
        assert "left out" in error["message"]
        assert len(server.requests) == 1
        assert text_of(worker.ask()) == "two", "the next one has the whole SDK"


@pytest.mark.slow
def test_the_switch_loads_the_whole_sdk_which_reads_the_same():
    replies = [tool_reply([("read", {"path": "é"})], text="a", thinking="b"), http_error(429, "c", retry_after=99)]
    found = []
    for switch in ("0", "1"):
        with (
            MessagesServer(*replies) as server,
            WorkerProcess(server.base_url, env={"ZOT_FULL_SDK": switch}) as worker,
        ):
            assert worker.read() == {"type": "ready", "whole_sdk": "ZOT_FULL_SDK is set" if switch == "1" else ""}
            found.append([worker.ask(), worker.ask(), [request.body for request in server.requests]])
            found[-1].append([_comparable(request.headers) for request in server.requests])
    assert found[0] == found[1]


def _comparable(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name not in ("host", "traceparent")}


def test_every_entry_of_the_table_exists_in_the_installed_sdk():
    found = find_spec("anthropic")
    assert found is not None
    assert found.origin is not None
    root = Path(found.origin).parents[1]
    missing = {
        name for name in LEFT_OUT
        if not (root / name.replace(".", "/")).is_dir() and not (root / (name.replace(".", "/") + ".py")).exists()
    }  # fmt: skip
    assert missing <= {"anthropic.resources.completions"}
