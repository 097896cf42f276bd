"""`zot ext drive` from a pipe and on a terminal."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from typing import TYPE_CHECKING

from tests.support.calling_extension import calling_extension
from tests.support.extension_folder import EXAMPLES, extension, folder
from tests.support.extension_scripts import PATIENT
from tests.support.host import PRELUDE
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Outcome, Zot


def piped(zot: Zot, tmp_path: Path, text: str, *args: str | Path) -> Outcome:
    """Runs `zot` with this text on its standard input."""
    source = tmp_path / "stdin"
    source.write_text(text)
    with source.open("rb") as stdin:
        return zot.run(*args, stdin=stdin)


def test_lines_of_a_pipe_are_sent_and_recorded(zot, echo, tmp_path):
    made = tmp_path / "made.jsonl"
    text = '# a comment\n\ntool echo {"text": "hi"}\nask tool_call {"tool_name": "x", "tool_args": {}}\n'
    text += (
        'event turn_end {"stop": "end_turn"}\n{"type": "tool_call", "id": "7", "name": "echo", "args": {"text": "é"}}'
    )
    outcome = piped(zot, tmp_path, text, "ext", "drive", echo, "--json", "--record", made)
    assert outcome.status == 0, outcome.stderr
    said = outcome.json_lines
    heard = [line["extension"] for line in said if "extension" in line]
    assert heard[0]["type"] == "hello"
    assert heard[-4]["id"] == "d1"
    assert heard[-3]["type"] == "event_intercept_response"
    assert heard[-2]["content"][0]["text"] == "é"
    assert heard[-1] == {"type": "shutdown_ack"}
    assert zot.run("ext", "test", echo, made).status == 0


def test_without_a_terminal_the_output_has_no_colours(zot, tmp_path):
    outcome = piped(zot, tmp_path, "/meter\nhelp\nquit\n/meter\n", "ext", "drive", EXAMPLES / "turn-meter")
    assert outcome.status == 0
    assert "\x1b" not in outcome.text
    assert outcome.text.count("command_invoked") == 1
    assert '"action": "display"' in outcome.text
    assert "tool NAME {json}" in outcome.stderr


def test_a_tool_that_the_extension_calls_is_answered_by_hand_and_the_record_plays_again(zot, tmp_path):
    asking = calling_extension(tmp_path)
    made = tmp_path / "made.jsonl"
    text = 'tool nested {"name": "read", "args": {"path": "a"}}\nanswer the file\n'
    outcome = piped(zot, tmp_path, text, "ext", "drive", asking, "--json", "--record", made)
    assert outcome.status == 0, outcome.stderr
    result = next(line["host"] for line in outcome.json_lines if line.get("host", {}).get("type") == "tool_result")
    assert (result["name"], result["content"][0]["text"]) == ("read", "the file")
    assert zot.run("ext", "test", asking, made).status == 0


def test_an_answer_that_does_not_come_is_an_error(zot, tmp_path):
    mute = extension(tmp_path, "never_answers", timeouts=PATIENT)
    outcome = piped(zot, tmp_path, "tool hang {}\n", "ext", "drive", mute, "--wait", "0.05")
    assert outcome.status == 1
    assert "no tool_result within 0.05 s" in outcome.stderr
    assert outcome.leftovers == []


def test_an_extension_that_does_not_start_is_an_error(zot, tmp_path):
    outcome = piped(zot, tmp_path, "ping\n", "ext", "drive", extension(tmp_path, "exits_before_hello"))
    assert outcome.status == 1
    assert 'it exited before its hello (exit 3): "exits_before_hello: cannot find my configuration"' in outcome.stderr
    assert outcome.stderr.count("zot ext drive:") == 1


LATE = """
hello("shout")
send(type="ready")
for frame in frames():
    if frame["type"] == "tool_call":
        send(type="notify", level="info", message="that was loud")
        result(frame, frame["args"]["text"].upper())
    elif frame["type"] == "event":
        open("gate").close()  # a pipe: returns when the test opens it, too
        send(type="notify", level="info", message="meanwhile")
"""


def test_a_dumb_terminal_has_a_prompt_and_what_comes_meanwhile_has_its_own_line(zot, tmp_path):
    """The terminal itself edits the line, so zot does not know what has been typed of it."""
    ours, theirs = pty.openpty()
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    (tmp_path / "late.py").write_text(PRELUDE + LATE.replace('"gate"', repr(str(gate))))
    late = folder(tmp_path, "late", [sys.executable, "-I", "-S", str(tmp_path / "late.py")], timeouts=PATIENT)
    env = {"TERM": "dumb", "FORCE_COLOR": "1"}
    with zot.start("ext", "drive", late, stdin=theirs, stdout=theirs, env=env) as running:
        os.close(theirs)
        seen = Terminal(ours)
        seen.until("zot> ")
        os.write(ours, 'tool shout {"text": "né!'.encode() + b'\x7f"}\n')  # deletes the `!`
        seen.until("NÉ")
        seen.until("zot> ")
        assert "NÉ!" not in seen.text
        assert "\x1b[36m" in seen.text, "colours"
        os.write(ours, b'event turn_end {"stop": "end_turn"}\ntool sho')
        seen.until("zot> ")
        gate.open("w").close()
        seen.until("meanwhile")
        _, _, line = seen.text.partition("meanwhile")[0].rpartition("\n")
        assert "sho" not in line, "on a line of its own"
        os.write(ours, b'ut {"text": "two"}\n')
        seen.until("TWO")
        seen.until("zot> ")
        os.write(ours, b"\x04")
        seen.until("shutdown_ack")
        outcome = running.finish()
    os.close(ours)
    assert outcome.status == 0
    assert outcome.leftovers == []


class Terminal:
    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.text = ""
        self._read = 0

    def until(self, wanted: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        start = self._read
        while wanted not in self.text[start:]:
            ready, _, _ = select.select([self._fd], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"{wanted!r} did not come: {self.text!r}"
            self.text += os.read(self._fd, 65536).decode()
        self._read = self.text.index(wanted, start) + len(wanted)
