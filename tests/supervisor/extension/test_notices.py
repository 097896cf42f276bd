"""Log frames of an extension become lines of its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.host import Host


FLOOD = r"""
hello(intercept=["tool_call"])
send(type="ready")
note = b'{"type":"notify","message":"n"}\n'
for _ in range(3):
    os.write(1, note * 1000 + b'{"type":"notify",\n' + note + b'{"type":"notify"\n')
for frame in frames():
    answer = {"type": "event_intercept_response", "id": frame["id"], "block": True, "reason": "seen"}
    os.write(1, note * 500 + json.dumps(answer).encode() + b"\n" + note * 500)
"""


def test_notes_that_come_too_fast_are_dropped_unread_and_answers_between_them_come(host: Host):
    host.write("x", FLOOD)
    host.start()
    assert host.ask(tool_name="t").reason == "seen"
    host.until(lambda: host.cost("x").frames_in >= 3 * 1003 + 1000 + 4)
    cost, shown = host.cost("x"), len(host.notes)
    assert cost.frames_in == cost.notes_dropped + cost.junk_lines + shown + 4, "hello, subscribe, ready, the answer"
    assert 3 <= cost.junk_lines <= 6, "one that begins like a note may be dropped with them"
    assert host.said_of("x")[0][0] == "warning"


def test_a_log_frame_is_a_line_of_the_log(host: Host):
    host.write(
        "x",
        r"""
hello()
send(type="log", level="warn", message="disk\nis full\x1b[2J", fields={"free": 0, "path": "/tmp", "why": "a b"})
send(type="log", message="plain")
send(type="log", level="fanfare", message="odd")
send(type="log", level="error")
send(type="ready")
for frame in frames(): pass
""",
    )
    host.start()
    lines = [line for line in host.log("x").splitlines() if not line.startswith("[zot]")]
    assert lines == ['[warn] disk is full free=0 path=/tmp why="a b"', "[info] plain", "[info] odd"]
    assert "bad log frame" in host.log("x")
