"""A black box is played again: a faulty extension falls again, a mended one does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.harness.harness import Harness
from supervisor.harness.replay import ReplayResult, replay
from tests.support.mcp_servers import add_server
from wire.traces.host_part import body_of

if TYPE_CHECKING:
    from tests.support.host import Host
    from tests.support.kept_boxes import Keeper
    from wire.traces.black_box import KeptBox

CRASH = "os.kill(os.getpid(), signal.SIGSEGV)"
CODE = """
hello("a", "b", intercept=["tool_call"], events=["turn_start"])
send(type="ready")
calls = 0
for frame in frames():
    if frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"])
    elif frame["type"] == "tool_call":
        calls += 1
        if calls == 2 and "bad" in json.dumps(frame["args"]):
            CRASH
        result(frame, "done")
"""


def played(box: KeptBox, found: FoundExtension, *, wait_s: float = 20.0) -> ReplayResult:
    with Harness() as harness:
        return replay(harness, found, box, lambda _tool: {"text": "made up"}, wait_s=wait_s)


def box_of(host: Host, keep: Keeper, code: str = CODE, form: str = "full", **manifest: Any) -> KeptBox:
    """The black box of two calls and a verdict, of which the second call does not go well."""
    kept = keep(black_box=form)
    host.write("falls", code.replace("CRASH", CRASH), **manifest)
    host.start()
    host.call_of("falls", "a", text="good")
    host.ask()
    host.call_of("falls", "b", text="bad")
    return kept.one()


def mend(host: Host, code: str) -> FoundExtension:
    """The same extension with another program."""
    host.write("falls", code)
    return host.found[-1]


def test_it_falls_again_and_a_mended_one_does_not(host: Host, keep: Keeper):
    box = box_of(host, keep)
    again = played(box, host.found[0])
    assert (again.fall, again.call, again.requests, again.answered) == ("signal SIGSEGV", "tool_call b", 3, 2)
    assert again.frame == len(box.frames)
    assert str(again) == f"falls again: signal SIGSEGV after frame {again.frame} (tool_call b)"
    mended = played(box, mend(host, CODE.replace("CRASH", "pass")))
    assert str(mended) == "did not fall: it answered all 3 requests"


def test_one_that_hangs_hangs_again(host: Host, keep: Keeper):
    kept = keep(black_box="full")
    host.write("hangs", 'hello("a")\nsend(type="ready")\nfor frame in frames(): pass', timeouts={"tool_call": 0.1})
    host.start()
    for _ in range(3):
        host.call_of("hangs", "a")
    box = kept.one()
    again = played(box, host.found[0], wait_s=0.2)
    assert again.fall.startswith("no answer within 0.2 s to frame ")
    assert again.call == "tool_call a"


def test_a_guard_that_gives_no_verdict_gives_none_again(host: Host, keep: Keeper):
    code = """
hello(intercept=["tool_call"])
send(type="ready")
for frame in frames(): send(type="event_intercept_response", id=frame["id"], block="perhaps")
"""
    kept = keep(black_box="full")
    host.write("guard", code)
    host.start()
    host.ask()
    again = played(kept.one(), host.found[0])
    assert again.fall.startswith("no host takes its answer: bad event_intercept_response frame")


def test_without_contents_requests_have_made_up_ones(host: Host, keep: Keeper):
    box = box_of(host, keep, form="types")
    not_again = played(box, host.found[0])
    assert (not_again.fall, not_again.is_made_up, not_again.requests, not_again.answered) == ("", True, 3, 3)
    again = played(box, mend(host, CODE.replace('"bad"', '"made up"').replace("CRASH", "os._exit(3)")))
    assert (again.fall, again.call) == ("exit 3", "tool_call b")
    without = played(box, mend(host, 'hello("other")\nsend(type="ready")\nfor frame in frames(): pass'))
    assert (without.fall, without.requests, without.left_out) == ("", 0, 3)
    assert without.is_void
    assert str(without) == "nothing could be played: the extension has no such tools, or the frames are not whole"


def test_one_that_no_longer_starts_falls(host: Host, keep: Keeper):
    box = box_of(host, keep)
    result = played(box, mend(host, "os._exit(4)"))
    assert result.fall == "it exited before its hello (exit 4), before it was ready"
    assert (result.frame, str(result)) == (None, f"falls in another way: {result.fall}; recorded: signal SIGSEGV")


def test_frames_that_are_not_whole_are_left_out(host: Host, keep: Keeper):
    kept = keep(black_box="full")
    host.write("falls", CODE.replace("CRASH", CRASH))
    host.start()
    host.call("a", text="x" * 100_000)
    host.call("a", text="bad")
    result = played(kept.one(), host.found[0])
    assert (result.fall, result.requests, result.left_out) == ("", 1, 1)


def test_answers_of_the_host_come_when_they_are_asked_for(host: Host, keep: Keeper):
    code = """
hello("a", "b")
send(type="ready")
for frame in frames():
    if frame["type"] == "tool_call" and frame["name"] == "a":
        send(type="call_tool", id="mine", name="b", args={})
        asked = frame
    elif frame["type"] == "tool_call":
        result(frame, "inner")
    elif frame["type"] == "tool_result":
        CRASH
"""
    kept = keep(black_box="full")
    host.write("falls", code.replace("CRASH", CRASH))
    host.start()
    host.call("a")
    box = kept.one()
    again = played(box, host.found[0])
    assert (again.fall, again.call) == ("signal SIGSEGV", "tool_result")
    assert played(box, mend(host, code.replace("CRASH", 'result(asked, "done")'))).fall == ""


@pytest.mark.parametrize("form", ["types", "full"])
def test_an_mcp_server_falls_again(host: Host, keep: Keeper, form: str):
    kept = keep(black_box=form)
    add_server(host, "server", "faulty.py exits-in-call")
    host.start()
    host.call_of("server", "mcp__server__leave")
    box = kept.one()
    assert (box.header.dialect, box.header.last_call and box.header.last_call.name) == ("mcp", "mcp__server__leave")
    last = [frame for frame in box.frames if frame.side == "host"][-1]
    assert (last.kind, last.name) == ("tools/call", "leave")
    if form == "full":
        assert json.loads(body_of(last) or b"")["params"]["name"] == "leave"
    again = played(box, host.found[0])
    assert (again.fall, again.call) == ("exit 0", "tools/call leave")
    add_server(host, "server", "reference.py")
    assert played(box, host.found[-1]).fall == ""


def test_the_box_of_a_long_life_is_played_after_a_handshake_of_its_own(host: Host, keep: Keeper):
    kept = keep(black_box="full")
    host.write("falls", CODE.replace("calls == 2 and", "").replace("CRASH", CRASH))
    host.start()
    for _ in range(150):
        host.call("a", text="good")
    host.call("b", text="bad")
    box = kept.one()
    assert not box.header.is_whole
    assert box.frames[0].kind in ("tool_call", "tool_result")
    again = played(box, host.found[0])
    assert (again.fall, again.call) == ("signal SIGSEGV", "tool_call b")
    assert again.answered >= 98


def test_an_unknown_program_is_a_fall_of_its_own(host: Host, keep: Keeper):
    box = box_of(host, keep)
    found = host.found[0]
    missing = FoundExtension(found.folder, type(found.manifest)("falls", "./missing"), Scope.EXPLICIT)
    assert "missing" in played(box, missing).fall


@pytest.mark.parametrize("form", ["types", "full"])
def test_an_empty_box_starts_and_stops_it(host: Host, keep: Keeper, form: str):
    kept = keep(black_box=form)
    host.write("falls", "os._exit(5)")
    host.launch()
    host.until(lambda: kept.paths)
    again = played(kept.one(), host.found[0])
    assert again.fall == "it exited before its hello (exit 5), before it was ready"


def test_an_end_that_is_another_than_the_recorded_one_is_told_so():
    made = ReplayResult("exit 1", 5, "tool_call b", 3, 2, 0, False, 0.1, (), "signal SIGSEGV")
    assert str(made) == "falls in another way: exit 1 after frame 5 (tool_call b); recorded: signal SIGSEGV"
