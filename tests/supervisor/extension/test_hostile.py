"""What a hostile extension can do to the host: it stays in bounds, and a sound extension beside it is still served."""

from __future__ import annotations

import os
import resource
from typing import TYPE_CHECKING

import pytest

from supervisor.extension.lifecycle import State
from supervisor.loop.pending import Failure

if TYPE_CHECKING:
    from tests.support.host import Host


pytestmark = pytest.mark.usefixtures("healthy")


def test_ten_thousand_tools_are_too_many(host: Host):
    host.write(
        "many", 'hello(*(f"t{n}" for n in range(10_000)))\nsend(type="ready")\nfor f in frames(): result(f, f["name"])'
    )
    host.start()
    assert host.tools() == {"echo", *(f"t{n}" for n in range(500))}
    assert host.said_of("many")[0] == ("warning", "registered more than 500 tools; the rest are left out")
    assert len(host.said_of("many")) <= 2
    assert host.text("t499") == "t499"


def test_ten_thousand_bad_tools_are_eleven_lines(host: Host):
    host.write("many", 'hello(*(f"bad {n}" for n in range(10_000)))\nsend(type="ready")\nfor _ in frames(): pass')
    host.start()
    lines = [line for _, line in host.said_of("many")]
    assert len(lines) == 11
    assert lines[-1] == f"has more faults than are shown here (log: {host.extension('many').log.path})"
    assert len(host.log("many").splitlines()) < 200


def test_more_commands_than_anyone_types(host: Host):
    code = 'for n in range(2000): send(type="register_command", name=f"c{n}")\n'
    code += 'send(type="register_command", name="x" * 1000)\n'
    host.write("many", "hello()\n" + code + 'send(type="ready")\nfor _ in frames(): pass')
    host.start()
    assert len(host.extension("many").commands) == 500
    assert [line for _, line in host.said_of("many")] == [
        "registered more than 500 commands; the rest are left out",
        f"command {'x' * 80!r} is left out: its name must have 1 to 128 characters",
    ]


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
def test_nothing_it_says_reaches_a_terminal_raw(host: Host, escape: str):
    host.write("evil", EVIL % f"{escape}evil")
    host.start()
    host.until(lambda: host.extension("evil").state is State.FAILED)
    lines = [line for _, line in host.said_of("evil")]
    lines += [line for line in host.log("evil").split("\n") if line.startswith("[zot]")]
    assert len(lines) > 8
    assert all(line.isprintable() for line in lines), lines


def test_answers_are_taken_from_nobody_but_the_one_who_was_asked(host: Host):
    flood = (
        'for n in range(1, 200): send(type="tool_result", id=str(n), content=[{"type": "text", "text": "stolen"}])\n'
    )
    host.write("thief", 'hello("t")\nsend(type="ready")\n' + flood + 'for f in frames(): result(f, "true")')
    host.start()
    host.until(lambda: host.cost("thief").frames_in > 200)
    assert host.text("echo", text="mine") == "mine"
    assert host.text("t") == "true", "nor before it was asked"


def test_another_program_in_its_place_is_seen_through(host: Host):
    host.write("other", 'hello("t")\nsend(type="ready")\nnext(frames())\nos.execvp("echo", ["echo", "hi"])')
    host.start()
    answer = host.call("t")
    assert answer.reason == "it ended (exit 0)"


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


def test_without_a_descriptor_left_the_start_fails_and_nothing_is_lost(host: Host):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    host.start()
    in_use = len(os.listdir("/proc/self/fd"))
    for spare in range(1, 12):
        host.found.clear()
        host.add("echo", name=f"late{spare}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + spare, hard))
        try:
            host.launch()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        late = host.extension(f"late{spare}")
        if late.child is None:
            assert [line.partition(" (log")[0] for _, line in host.said_of(late.name)] == [
                f"cannot start {late.found.program}: [Errno 24] Too many open files"
            ]
            assert len(os.listdir("/proc/self/fd")) <= in_use + spare
        in_use = len(os.listdir("/proc/self/fd"))
    assert host.extension("late1").child is None
    assert host.extension("late11").child is not None
    assert host.supervisor.settle(host.loop.clock() + 10)
