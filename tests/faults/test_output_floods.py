"""One row for each way to say too much, or too little at a time: the others are answered meanwhile, and memory and disk
stay bounded.

Set ZOT_FULL_FLOODS=1 for floods of full size: 1 GiB instead of 64 MiB, with the limit of the log 16 times as high.
"""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

import psutil
import pytest

from supervisor.loop.loop import BACKGROUND_READ, Loop
from supervisor.loop.pipes import LARGE_READ, PipeReader
from tests.support.faulty_run import ECHO, HEALTHY, QUICK, SOON, is_back, observe, program
from tests.support.host import Host
from tests.support.replay_script import Script, ok
from wire.events import Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.zot_process import Zot

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


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with Host(tmp_path) as one:
        yield one


# --- stderr ----------------------------------------------------------------------------------------------------


def test_a_flood_of_stderr_is_bounded_on_disk_and_in_memory(host: Host) -> None:
    """Looked at while it pours, each time another extension has been served."""
    host.add("echo")
    host.write("pourer", POUR, limits={"log_mb": LOG_MIB}, timeouts={"tool_call": 300})
    host.start()
    before = psutil.Process().memory_info().rss
    answers = []
    host.supervisor.begin_call("pour", b"{}", answers.append)
    largest = served = 0
    while not answers:
        assert host.text("echo", text="x") == "x"
        served += 1
        host.loop.run_until(lambda: bool(answers), host.loop.clock() + 0.02)
        largest = max(largest, disk_use(host.folder / "logs"))
    assert answers[0].frame is not None
    host.until(lambda: host.extension("pourer").log.last_line() == "the last line")
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


def test_after_a_flood_its_last_words_are_in_the_reason_of_a_death(tmp_path: Path) -> None:
    wordy = program(
        tmp_path,
        "wordy",
        'hello("die")\nsend(type="ready")\nfor frame in frames():\n'
        '    sys.stderr.write("noise\\n" * 200_000 + "cannot find the answer\\n")\n    sys.exit(4)',
        restart=SOON,
    )
    seen = observe(tmp_path, wordy, batches=[[("die", {})], [ECHO]], hold={2: is_back("wordy")})
    assert seen.answer_of("t1.0")[0].endswith('it ended (exit 4): "cannot find the answer"')
    assert 'ended (exit 4) with 1 call pending: "cannot find the answer"; starting it again' in seen.stderr[0]


# --- stdout ----------------------------------------------------------------------------------------------------

FLOODS = {
    "notes": (BACKGROUND_READ, b'{"type":"notify","message":"n"}\n' * 2000),
    "lines that are no frames": (BACKGROUND_READ, b"x\n" * 32768),
    "a line without an end": (LARGE_READ, b"x" * 65536),
}
PIECES = 5
ANSWERS = 10
GATED = """
hello("gated", intercept=["tool_call"])
send(type="ready")
gate = os.open(sys.argv[1], os.O_RDONLY)
for frame in frames():
    os.read(gate, 1)
    if frame["type"] == "tool_call":
        result(frame, frame["args"]["text"])
    else:
        send(type="event_intercept_response", id=frame["id"], block=True, reason="seen " + frame["tool_name"])
"""


@pytest.mark.parametrize("flood", FLOODS)
def test_while_a_verdict_is_awaited_a_flood_is_read_in_small_pieces(host: Host, flood: str) -> None:
    """The one that is awaited answers once `PIECES` pieces of the flood have been read. It is looked at after each of
    them, so whatever another one floods, its answer waits for one piece at most."""
    most, data = FLOODS[flood]
    gate = host.folder / "gate"
    os.mkfifo(gate)
    host.write("flood", f'hello()\nsend(type="ready")\nwhile True: os.write(1, {data!r})')
    host.write("asked", GATED.replace("sys.argv[1]", repr(str(gate))))
    host.start()
    with gate.open("r+b", buffering=0) as opener:
        seen = watch_reads(host, opener)
        for number in range(ANSWERS):
            seen.append(0)
            judgement = host.ask(tool_name=f"t{number}")
            assert (judgement.blocked_by, judgement.reason) == ("asked", f"seen t{number}")
        seen = list(seen)
        assert host.said_of("asked") == []
        host.stop(at_once=True)
    assert len([size for size in seen if size]) >= ANSWERS * PIECES
    assert max(seen) <= most
    for size, following in itertools.pairwise(seen):
        assert not (size and following), "it is looked at after each piece"


def watch_reads(host: Host, gate: BinaryIO) -> list[int]:
    """What the loop does from now on: how much of the flood is read at a time, and 0 for each look at the awaited one.
    Every `PIECES` pieces the gate is opened for an answer."""
    seen: list[int] = []
    flood, awaited = host.extension("flood").child, host.extension("asked").child
    assert flood is not None
    assert awaited is not None
    deliver, look = flood.stdout._sink, awaited.stdout.has_input
    pieces = itertools.count(1)

    def sink(data: bytes) -> None:
        seen.append(len(data))
        deliver(data)
        if next(pieces) % PIECES == 0:
            gate.write(b".")

    def has_input() -> bool:
        seen.append(0)
        return look()

    flood.stdout._sink = sink
    awaited.stdout.has_input = has_input  # type: ignore[method-assign]
    return seen


def test_pieces_that_take_long_to_work_off_become_smaller_and_larger_again() -> None:
    """8 KiB can be one frame, or eight thousand lines of junk. The clock is one that only the work moves."""
    now, cost_per_byte, sizes = 0.0, 1e-6, []

    def work_off(data: bytes) -> None:
        nonlocal now
        sizes.append(len(data))
        now += len(data) * cost_per_byte

    loop = Loop(clock=lambda: now)
    read, write = os.pipe()
    inlet = PipeReader(loop, read, work_off, lambda: None)
    try:
        for cost_per_byte, expected in (  # noqa: B007
            (1e-6, [8192, 4096, 2048, 1024, 512, 512]),
            (1e-9, [512, 1024, 2048, 4096, 8192, 8192]),
            (1e-3, [8192, 4096, 2048, 1024, 512, 512]),
        ):
            sizes.clear()
            for _ in expected:
                os.write(write, bytes(8192))
                inlet.on_readable(BACKGROUND_READ)
            assert sizes == expected
            inlet.take_waiting()
    finally:
        inlet.close()
        os.close(write)
        loop.close()


def test_notes_for_a_reader_that_does_not_read_hold_up_nobody(zot: Zot) -> None:
    """stderr is a pipe that is full: what does not fit is dropped, and the answers behind it come."""
    script = Script(zot.cwd, extra={"note": ""})
    for _ in range(3):
        script.call(("note", {}), results=[ok("noted")])
    notes = program(
        zot.folder,
        "notes",
        'hello("note")\nsend(type="ready")\n'
        "for frame in frames():\n"
        '    for _ in range(400): send(type="notify", level="info", message="n" * 2000)\n'
        '    result(frame, "noted")',
    )
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        with suppress(BlockingIOError):
            while True:
                os.write(write, b"full" * 1024)
        os.set_blocking(write, True)
        outcome = zot.replay(script.answer("Done."), "-e", notes, stderr=write).check(Status.OK)
    finally:
        os.close(read)
        os.close(write)
    assert outcome.tool_texts() == ["noted"] * 3


# --- a little at a time ------------------------------------------------------------------------------------------

DRIP = """
import threading
def drip(data, pause):
    for byte in data:
        os.write(1, bytes([byte]))
        time.sleep(pause)
"""
MEANWHILE = """
def until_shutdown(write):
    def without_end():
        while True:
            write()
    threading.Thread(target=without_end, daemon=True).start()
    for _ in frames():
        pass
    os._exit(0)
"""


def test_half_a_hello_for_ever_is_given_up_after_its_deadline(tmp_path: Path) -> None:
    """Each byte is a sign of life; no number of them is a hello."""
    slow = program(
        tmp_path,
        "slow_hello",
        DRIP + MEANWHILE + 'drip(b\'{"type":"hello","name":"\', 0)\nuntil_shutdown(lambda: drip(b"x", 0.01))',
        timeouts=QUICK,
        restart={"policy": "temporary"},
    )
    seen = observe(tmp_path, slow, batches=[[ECHO], [ECHO]])
    assert seen.result.status == "ok"
    assert seen.answer_of("t1.0") == ("still here", False)
    assert any("said no hello within 1 s" in line for line in seen.lines_about("slow_hello"))


def test_half_an_answer_for_ever_fails_its_call_after_its_deadline(tmp_path: Path) -> None:
    """And it is not taken for the start of the next answer: the line ends where it ends."""
    slow = program(
        tmp_path,
        "slow_answer",
        DRIP + 'hello("half", "whole")\nsend(type="ready")\n'
        "for frame in frames():\n"
        '    if frame["name"] == "whole":\n'
        "        os.write(1, b'\"}]}\\n')\n"
        '        result(frame, "whole")\n'
        "        continue\n"
        '    drip(b\'{"type":"tool_result","id":"%s","content":[{"type":"text","text":"\' % frame["id"].encode(), 0)\n'
        "    while not select.select([0], [], [], 0)[0]: drip(b'x', 0.01)",
        timeouts={**QUICK, "tool_call": 0.5},
    )
    seen = observe(tmp_path, slow, batches=[[("half", {})], [ECHO], [("whole", {})], [ECHO]])
    text, is_error = seen.answer_of("t1.0")
    assert is_error
    assert "timeout waiting for slow_answer/half" in text
    assert seen.answer_of("t3.0") == ("whole", False)
    assert seen.answer_of("t4.0") == ("still here", False)
    assert "its tool half failed: no answer within 0.5 s" in "\n".join(seen.lines_about("slow_answer"))


def test_frames_that_come_byte_by_byte_are_frames(tmp_path: Path) -> None:
    slow = program(
        tmp_path,
        "drips",
        DRIP + "def send(**frame): drip(json.dumps(frame).encode() + b'\\n', 0.0005)\n"
        'hello("drop")\nsend(type="ready")\nfor frame in frames(): result(frame, "drop by drop")',
    )
    seen = observe(tmp_path, slow, batches=[[ECHO], [("drop", {})]], extension_wait=10.0)
    assert seen.answer_of("t2.0") == ("drop by drop", False)
    assert not seen.lines_about("drips")
    assert not seen.lines_about(HEALTHY)


def test_an_intercept_is_judged_while_another_drips_and_a_third_floods(tmp_path: Path) -> None:
    """Guards of all kinds at once: each verdict comes from the one that gave it."""
    start = DRIP + MEANWHILE + 'hello()\nsend(type="ready")\nuntil_shutdown(lambda: %s)'
    dripping = program(tmp_path, "dripping", start % 'drip(b"x", 0.001)', timeouts=QUICK)
    flooding = program(tmp_path, "flooding", start % 'os.write(1, b"{}\\n" * 20000)', timeouts=QUICK)
    guard = program(
        tmp_path,
        "guard",
        'hello(intercept=["tool_call"])\nsend(type="ready")\n'
        "for frame in frames():\n"
        '    bad = frame["tool_args"].get("text") == "bad"\n'
        '    send(type="event_intercept_response", id=frame["id"], block=bad, reason="bad")',
    )
    batches = [[("echo", {"text": text})] for text in ("one", "bad", "two", "bad", "three")]
    seen = observe(tmp_path, dripping, flooding, guard, batches=batches)
    assert seen.result.status == "ok"
    answers = [seen.answer_of(f"t{turn}.0") for turn in range(1, 6)]
    assert [text for text, is_error in answers if not is_error] == ["one", "two", "three"]
    assert [is_error for _, is_error in answers] == [False, True, False, True, False]
    assert not seen.lines_about("guard")
    assert seen.lines_about("flooding") == [
        "zot: extension flooding: writes lines that are not frames to its stdout; they are skipped and counted"
    ]
