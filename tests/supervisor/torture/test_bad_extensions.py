"""For each family an extension with one weakness, which is good otherwise: the fault that meets it does not hold, for
that reason. A good one stands the same faults, see `test_runner` and `test_good_extensions`."""

from __future__ import annotations

import pytest

from supervisor.torture import first_start, player
from supervisor.torture.faults import input_ends
from supervisor.torture.score import Outcome
from tests.support.host import PRELUDE

TOOL = """
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
def tool():
    send(type="register_tool", name="count", schema=SCHEMA)
    send(type="ready")
"""
GREETING = """
hello()
tool()
"""
ANSWERING = """
for frame in frames():
    if frame["type"] == "tool_call": result(frame, "one")
"""
LOCKS = """
hello()
for frame in map(json.loads, sys.stdin):
    if frame["type"] == "hello_ack":
        lock = frame["data_dir"] + "/lock"
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            sys.exit("it is locked")
        tool()
    elif frame["type"] == "tool_call":
        result(frame, "one")
    elif frame["type"] == "shutdown":
        os.unlink(lock)
        send(type="shutdown_ack")
        break
"""
CHUNKS = """
while chunk := os.read(0, 65536):
    frame = json.loads(chunk)
    if frame["type"] == "tool_call": result(frame, "one")
    if frame["type"] == "shutdown": break
"""
LEAKS = """
opened = []
for frame in frames():
    opened.append(os.open("/dev/null", os.O_RDONLY))
    result(frame, "one")
"""
WATCHES = """
import threading
def watch():
    before = time.time()
    while True:
        time.sleep(0.05)
        before, past = time.time(), time.time() - before
        if past > 1.5: os._exit(9)
threading.Thread(target=watch, daemon=True).start()
"""
SPLITS = """
rest = ""
while True:
    chunk = os.read(0, 65536).decode()
    *lines, rest = (rest + chunk + ".").splitlines()
    rest = rest[:-1]
    for frame in map(json.loads, lines):
        if frame["type"] == "tool_call": result(frame, "one")
        if frame["type"] == "shutdown": sys.exit()
    if not chunk: break
"""
CONFUSES = """
last = "torture-a"
for frame in frames():
    send(type="tool_result", id=frame["id"], content=[], session_id=last)
    last = frame.get("session_id", last)
"""
HANGS_ON_HUP = """
def hang(number, frame):
    while True: signal.pause()
signal.signal(signal.SIGHUP, hang)
"""
TWICE = """
for number, frame in enumerate(frames()):
    result(frame, "one")
    if number: result(frame, "two")
"""
STAYS = ANSWERING + "\nwhile True: signal.pause()\n"
CASES = {
    "ignores the request to stop": (GREETING + STAYS, "shutdown-in-call", "it did not end within"),
    "leaves a lock behind": (LOCKS, "killed-in-call", "its next start failed"),
    "shares no folder": (LOCKS, "two-at-once", "it is locked"),
    "stays at the end of input": (GREETING + STAYS, "eof-after-ready", "it still runs"),
    "takes a chunk for a frame": (GREETING + CHUNKS, "many-in-one-write", "it ended in one write"),
    "reads no single bytes": (GREETING + CHUNKS, "one-byte-at-a-time", "it ended in single bytes"),
    "needs each line to be a frame": (GREETING + ANSWERING, "lines-that-are-no-frames", "it ended after the line"),
    "answers twice": (GREETING + TWICE, "storm-of-calls", "got more than one answer"),
    "keeps descriptors": (GREETING + LEAKS, "few-descriptors", "Too many open files"),
    "watches the clock": (WATCHES + GREETING + ANSWERING, "clock-jumps-forward", "exit 9"),
    "needs its arguments": (
        GREETING + ANSWERING.replace('"one"', 'frame["args"]["text"]'), "empty-arguments", "KeyError",
    ),
    "ends lines at separators": (
        GREETING + SPLITS, "line-separators-in-text", "json.decoder.JSONDecodeError",
    ),
    "confuses sessions": (GREETING + CONFUSES, "two-sessions", "in the name of the other session"),
    "hangs on SIGHUP": (HANGS_ON_HUP + GREETING + ANSWERING, "SIGHUP", "and it has not ended"),
    "ignores SIGTERM": (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + GREETING + ANSWERING, "SIGTERM", "after SIGTERM",
    ),
}  # fmt: skip

SLOW = ("ignores the request to stop", "watches the clock", "hangs on SIGHUP", "ignores SIGTERM")
PARAMETERS = [pytest.param(case, marks=[pytest.mark.slow] if case in SLOW else []) for case in CASES]


@pytest.mark.parametrize("case", PARAMETERS)
def test_a_weakness_is_found(case, torment, written, monkeypatch):
    code, fault, reason = CASES[case]
    monkeypatch.setattr(first_start, "LEAST_ANSWER_S", 1.0)
    monkeypatch.setattr(input_ends, "END_S", 0.5)
    monkeypatch.setattr(player, "SLACK_S", 0.5)
    result = torment(written(f"{PRELUDE}{TOOL}{code}"), fault)
    assert result.failure == ""
    (row,) = result.rows
    assert row.outcome is Outcome.NOT_HELD, row
    assert reason in row.reason
