"""Whatever an extension sends without end or of odd shape: a sound one is still served, and memory, disk and lines for
the user stay bounded.

Set ZOT_FULL_FLOODS=1 for floods of full size: 1 GiB instead of 64 MiB, with the limit of the log 16 times as high.
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING

import psutil
import pytest
from msgspec import Raw

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from tests.support.host import Host
from wire.dialects.long_lines import SHORT
from wire.frames import Event

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.host import Host
    from wire.dialects.base import Received


pytestmark = pytest.mark.usefixtures("healthy")
READY = 'hello()\nsend(type="ready")\n'
FLOOD = READY + "data = %s\nwhile True: os.write(%d, data)"
GUARD = """
hello(intercept=["tool_call"])
send(type="ready")
for frame in frames():
    send(type="event_intercept_response", id=frame["id"])
"""
CALL = Event("tool_call", tool_id="1", tool_name="bash", tool_args=Raw(b"{}"))
CALLS = 20
FLOODS = {
    "stderr": (2, 'b"e" * 65536'),
    "empty lines": (1, 'b"\\n" * 65536'),
    "junk lines": (1, 'b"x\\n" * 32768'),
    "one endless line": (1, 'b"x" * 65536'),
    "unknown frames": (1, 'b\'{"type":"a"}\\n\' * 5000'),
    "bad frames": (1, 'b\'{"type":"notify","message":5}\\n\' * 2000'),
    "notes": (1, 'b\'{"type":"notify","message":"x"}\\n\' * 2000'),
    "large notes": (1, 'b\'{"type":"notify","message":"\' + b"x" * 250_000 + b\'"}\\n\''),
    "notes over the limit": (1, 'b\'{"type":"notify","message":"\' + b"x" * 4_000_000 + b\'"}\\n\''),
    "logs of many fields": (
        1,
        """b'{"type":"log","message":"","fields":{' + b",".join(b'"%x":0' % n for n in range(25_000)) + b'}}\\n'""",
    ),
    "the largest answers": (1, """b'{"type":"tool_result","id":"1","x":[' + b"[]," * 2_000_000 + b"0]}\\n\""""),
    "answers to nobody": (1, 'b\'{"type":"tool_result","id":"1"}\\n\' * 2000'),
    "tools with large schemas": (
        1,
        'b\'{"type":"register_tool","name":"a","schema":{"enum":[\' + b"1," * 100_000 + b"1]}}\\n"',
    ),
    "subscriptions": (
        1,
        'json.dumps({"type": "subscribe", "events": list(map(str, range(50_000)))}).encode() + b"\\n"',
    ),
    "bytes that are not UTF-8": (1, 'b\'{"type":"notify","message":"\' + b"\\xff" * 500_000 + b\'"}\\n\''),
    "frames nested without end": (1, 'b\'{"type":"ready","x":\' + b"[" * 1_000_000 + b"\\n"'),
}


@pytest.fixture
def healthy(host: Host) -> Iterator[None]:
    """A sound extension is there from the beginning, and works to the end."""
    host.add("echo", name="healthy")
    yield
    assert host.text("echo", text="still here") == "still here"
    host.stop(at_once=True)  # those that flood do not hear a polite request
    assert host.said_of("healthy") == []


@pytest.mark.slow
@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_does_not_starve_others_and_is_kept_nowhere(host: Host, flood: str):
    descriptor, data = FLOODS[flood]
    host.write("flood", FLOOD % (data, descriptor))
    host.start()
    before = psutil.Process().memory_info().rss
    slowest = max(host.timed(host.text, "echo", text="x")[1] for _ in range(CALLS))
    host.until(lambda: descriptor == 2 or host.cost("flood").bytes_in > 1_000_000)
    host.supervisor.sample()
    assert slowest < 2.0
    assert psutil.Process().memory_info().rss - before < 128 * 1024 * 1024
    host.loop.run_until(lambda: False, host.loop.clock() + 0.05)
    logs = list((host.folder / "logs").glob("ext-flood.log*"))
    assert sum(path.stat().st_size for path in logs) <= 5 * 1024 * 1024 + 65536
    assert len(host.said_of("flood")) <= 11
    assert len([note for note in host.notes if note[0] == "flood"]) < 200
    assert all(len(line) < 1000 and line.isprintable() for _, line in host.said_of("flood"))


LARGE_FRAMES = 6


def test_guards_of_others_answer_between_the_largest_frames_of_one(host: Host):
    """One pass of the loop works off one large frame of an extension at most, and then looks at the others."""
    host.write("guard", GUARD)
    frame = """b'{"type":"tool_result","id":"1","x":"' + b"x" * 6_000_000 + b'"}\\n'"""
    host.write("flood", FLOOD % (frame, 1))
    host.start()
    worker = host.extension("flood").lead
    session, decoded_in = worker.channel.session, []

    def receive(line: bytes | bytearray, now: float) -> Received:
        if len(line) > SHORT:
            decoded_in.append(host.loop.passes)
        return session.receive(line, now)

    worker.channel.session = SimpleNamespace(receive=receive, note_heads=(), due_at=None, stop=session.stop)
    answers = 0
    while len(decoded_in) < LARGE_FRAMES:
        assert host.supervisor.intercept(CALL).missing == ()
        answers += 1
    assert len(set(decoded_in)) == len(decoded_in)
    assert answers >= 3


REFUSED = """
hello("t")
send(type="ready")
for frame in frames():
    send(type="log", message="x" * 300_000)
    send(type="tool_progress", id=frame["id"], text="x" * 300_000)
"""


def test_a_call_whose_frame_is_too_long_for_its_kind_fails_at_once(host: Host):
    host.write("wordy", REFUSED, timeouts={"tool_call": 60})
    host.start()
    answer = host.call("t")
    assert answer.failure is Failure.BAD_ANSWER
    assert answer.reason == "a tool_progress frame of 300048 bytes is over the limit of 262144 bytes; dropped"
    log = "a log frame of 300030 bytes is over the limit of 262144 bytes; dropped"
    assert ("warning", log) in host.said_of("wordy")
    for _ in range(3):
        host.call("t")
    assert [line for _, line in host.said_of("wordy")].count(log) == 1, "later ones are in its log only"
    assert host.log("wordy").count(log) == 4


# --- stderr ---------------------------------------------------------------------------------------------------


MIB = 1024 * 1024
IS_FULL = bool(os.environ.get("ZOT_FULL_FLOODS"))
FLOOD_MIB = 1024 if IS_FULL else 64
LOG_MIB = 5 if IS_FULL else 0.3125
POUR = f"""
hello("pour")
send(type="ready")
lines = (b"e" * 127 + b"\\n") * 8192
for frame in frames():
    for _ in range({FLOOD_MIB}):
        rest = memoryview(lines)
        while rest:
            rest = rest[os.write(2, rest):]
    os.write(2, b"the last line\\n")
    result(frame, "poured")
"""


@pytest.mark.slow
def test_a_flood_of_stderr_is_bounded_on_disk_and_in_memory(host: Host) -> None:
    """The disk is looked at during the flood, each time that another extension has answered."""
    host.write("pourer", POUR, limits={"log_mb": LOG_MIB}, timeouts={"tool_call": 300})
    host.start()
    before = psutil.Process().memory_info().rss
    answers = []
    host.begin_call("pour", b"{}", answers.append)
    largest = served = 0
    while not answers:
        assert host.text("echo", text="x") == "x"
        served += 1
        host.loop.run_until(lambda: bool(answers), host.loop.clock() + 0.02)
        largest = max(largest, disk_use(host.folder / "logs"))
    assert answers[0].frame is not None
    host.until(lambda: host.extension("pourer").lead.last_words.tail.last_line() == "the last line")
    assert served > 5
    assert largest <= LOG_MIB * MIB + 65536
    assert psutil.Process().memory_info().rss - before < 32 * MIB
    assert host.said_of("pourer") == [], "much on stderr is no fault"
    assert "the last line" in host.log("pourer"), "the end is what is kept"


def disk_use(folder: Path) -> int:
    sizes = []
    for path in folder.glob("ext-pourer.log*"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:
            continue  # renamed meanwhile
    return sum(sizes)


# --- registrations --------------------------------------------------------------------------------------------


def test_ten_thousand_tools_are_too_many(host: Host):
    host.write(
        "many", 'hello(*(f"t{n}" for n in range(10_000)))\nsend(type="ready")\nfor f in frames(): result(f, f["name"])'
    )
    host.start()
    assert host.tools() == {"echo", *(f"t{n}" for n in range(500))}
    assert host.said_of("many")[0] == ("warning", "registered more than 500 tools; the rest are skipped")
    assert len(host.said_of("many")) <= 2
    assert host.text("t499") == "t499"


def test_ten_thousand_bad_tools_are_reported_in_eleven_lines(host: Host):
    host.write("many", 'hello(*(f"bad {n}" for n in range(10_000)))\nsend(type="ready")\nfor _ in frames(): pass')
    host.start()
    lines = [line for _, line in host.said_of("many")]
    assert len(lines) == 11
    assert lines[-1] == f"has more faults than are shown here (log: {host.extension('many').log.path})"
    assert len(host.log("many").splitlines()) < 200


def test_schemas_and_descriptions_are_kept_up_to_a_limit_for_all_of_an_extension(host: Host):
    """A name that is taken back, or registered again, makes room."""
    host.write(
        "large",
        """
hello()
large = {"description": "d" * 60_000, "schema": {"title": "t" * 60_000}}
for n in range(20):
    send(type="register_tool", name=f"t{n}", **large)
    send(type="register_command", name=f"c{n}", description="d" * 60_000)
send(type="unregister_tool", name="t0")
send(type="register_tool", name="t1", **large)
send(type="register_tool", name="last", **large)
send(type="ready")
list(frames())
""",
    )
    host.start()
    assert host.tools() == {"echo", "last", *(f"t{n}" for n in range(1, 11))}
    assert set(host.extension("large").commands) == {f"c{n}" for n in range(12)}
    assert host.said_of("large")[0] == (
        "warning",
        "its schemas and descriptions have more than 2097152 bytes; the rest are skipped",
    )


def test_two_thousand_commands_are_too_many(host: Host):
    code = 'for n in range(2000): send(type="register_command", name=f"c{n}")\n'
    code += 'send(type="register_command", name="x" * 1000)\n'
    host.write("many", "hello()\n" + code + 'send(type="ready")\nfor _ in frames(): pass')
    host.start()
    assert len(host.extension("many").commands) == 500
    assert [line for _, line in host.said_of("many")] == [
        "registered more than 500 commands; the rest are skipped",
        f"command {'x' * 80!r} is skipped: its name must have 1 to 128 characters",
    ]


# --- frames of odd shape, and texts for the terminal ----------------------------------------------------------


EVIL = """
name = %r
send(type="hello", name=name)
send(type="register_tool", name=name)
send(type=name)
send(type="subscribe", events=[name])
send(type="tool_result", id=name)
send(type="notify", message={name: 1})
print(name, flush=True)
send(type="ready")
print(name, file=sys.stderr, flush=True)
sys.exit(1)
"""


@pytest.mark.parametrize("escape", ["\x1b[2J\x1b[31m", "\x1b]0;owned\x07", "\n\nzot: fine", "\u202e", "\x9b1m", "a\r"])
def test_control_characters_of_an_extension_never_reach_a_terminal(host: Host, escape: str):
    host.write("evil", EVIL % f"{escape}evil")
    host.start()
    host.until(lambda: host.extension("evil").state is WorkerState.FAILED)
    lines = [line for _, line in host.said_of("evil")]
    lines += [line for line in host.log("evil").split("\n") if line.startswith("[zot]")]
    assert len(lines) > 8
    assert all(line.isprintable() for line in lines), lines


DEEP = """
hello("t")
print('{"type":"register_tool","name":"d","schema":' + "[" * 1_000_000 + "]" * 1_000_000 + "}", flush=True)
send(type="ready")
for frame in frames():
    print('{"type":"tool_result","id":"%s","content":' % frame["id"] + "[" * 1_000_000, flush=True)
"""


def test_a_frame_nested_a_million_deep_costs_only_itself(host: Host):
    host.write("deep", DEEP, timeouts={"tool_call": 0.5})
    host.start()
    assert host.tools() == {"echo", "t"}
    assert host.call("t").failure is Failure.TIMEOUT
    assert "not a JSON object: nested too deeply" in host.log("deep")


def test_an_extension_that_becomes_another_program_fails_its_call(host: Host):
    host.write("other", 'hello("t")\nsend(type="ready")\nnext(frames())\nos.execvp("echo", ["echo", "hi"])')
    host.start()
    answer = host.call("t")
    assert answer.reason == "it ended (exit 0)"
