"""One row for each way to say too much, or too little at a time: the others are answered meanwhile, and memory and disk
stay bounded."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from tests.support.faulty_run import ECHO, HEALTHY, SOON, is_back, observe, program, short
from tests.support.replay_script import Script, ok
from wire.exit_codes import Status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot


# --- stderr ----------------------------------------------------------------------------------------------------


def test_after_a_flood_its_last_words_are_in_the_reason_of_a_death(tmp_path: Path) -> None:
    wordy = program(
        tmp_path,
        "wordy",
        'hello("die")\nsend(type="ready")\nfor frame in frames():\n'
        '    sys.stderr.write("noise\\n" * 200_000 + "cannot find the answer\\n")\n    sys.exit(4)',
        restart=SOON,
    )
    seen = observe(tmp_path, wordy, batches=[[("die", {})], [ECHO]], hold={2: is_back("wordy")})
    assert seen.answer_of("t1.0")[0].endswith('it ended (exit 4): "noise", "cannot find the answer"')
    assert 'ended (exit 4) with 1 call pending: "noise", "cannot find the answer"; restarting it' in seen.stderr[0]


# --- stdout ---------------------------------------------------------------------------------------------------


def test_notes_for_a_blocked_stderr_are_dropped_and_answers_come(zot: Zot) -> None:
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
        timeouts=short("hello"),
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
        timeouts={**short(), "tool_call": 2.0},
    )
    seen = observe(tmp_path, slow, batches=[[("half", {})], [ECHO], [("whole", {})], [ECHO]])
    text, is_error = seen.answer_of("t1.0")
    assert is_error
    assert "timeout waiting for slow_answer/half" in text
    assert seen.answer_of("t3.0") == ("whole", False)
    assert seen.answer_of("t4.0") == ("still here", False)
    assert "its tool half failed: no answer within 2 s" in "\n".join(seen.lines_about("slow_answer"))


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
    dripping = program(tmp_path, "dripping", start % 'drip(b"x", 0.001)', timeouts=short())
    flooding = program(tmp_path, "flooding", start % 'os.write(1, b"{}\\n" * 20000)', timeouts=short())
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
        "zot: extension flooding: writes lines that are not messages to its stdout; they are skipped and counted"
    ]
