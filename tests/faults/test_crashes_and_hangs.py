"""One row for each way to end or to hang during a run: the call fails in time, the user reads the reason, the extension
comes back, and the model gets its tools again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.extension_folder import extension, folder
from tests.support.faulty_run import ECHO, HEALTHY, SOON, Call, is_back, observe, program

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.faulty_run import Observed

DIE: Call = ("die", {})


def check(seen: Observed) -> None:
    """The run and the healthy extension are unharmed."""
    assert (seen.result.status, seen.result.text) == ("ok", "all done"), seen.stderr
    assert not seen.lines_about(HEALTHY)
    assert seen.result.extensions[HEALTHY].exit_status == "exit 0"


# --- crashes ---------------------------------------------------------------------------------------------------


def test_a_crashed_extension_is_back_for_the_next_turn(tmp_path: Path) -> None:
    lives = extension(tmp_path, "lives", tmp_path / "mark", restart=SOON)
    seen = observe(
        tmp_path,
        lives,
        batches=[[("die", {"code": 6})], [ECHO, ("life", {})], [("life", {})]],
        hold={2: is_back("lives")},
        extension_wait=10.0,
    )
    check(seen)
    assert seen.answer_of("t1.0") == ('extension lives/die failed: it ended (exit 6): "life 0"', True)
    assert "die" not in seen.offered(2), "while it is down the model is not offered what cannot be had"
    assert '"life": 1' in seen.answer_of("t2.1")[0], "and a call of it is answered as soon as it is back"
    assert {"life", "die"} <= seen.offered(3)
    crashed, back = seen.lines_about("lives")
    assert 'ended (exit 6) with 1 call pending: "life 0"; restarting it in 0.1 s (log: ' in crashed
    assert "ready again, restart 1" in back
    assert seen.events_of("lives") == ["started", "exited", "restarted"]


def test_an_extension_that_kills_its_process_group_kills_only_itself(tmp_path: Path) -> None:
    """`kill 0`, as shell scripts do. Each extension leads a process group and session of its own."""
    script = tmp_path / "kills.sh"
    script.write_text(
        'printf \'{"type":"hello","name":"kills"}\\n{"type":"register_tool","name":"die","schema":{}}\\n\'\n'
        'printf \'{"type":"ready"}\\n\'\nread ack\nread call\nkill -9 0\n'
    )
    kills = folder(tmp_path, "kills", ["/bin/sh", str(script)], restart=SOON)
    seen = observe(tmp_path, kills, batches=[[DIE], [ECHO]], hold={2: is_back("kills")})
    check(seen)
    assert seen.answer_of("t1.0") == ("extension kills/die failed: it ended (signal SIGKILL)", True)
    assert seen.answer_of("t2.0") == ("still here", False)


def test_a_run_without_an_extension_that_it_requires_fails_before_the_model_is_asked(tmp_path: Path) -> None:
    crashes = extension(tmp_path, "exits_before_hello", restart={**SOON, "max": 2}, required=True)
    seen = observe(tmp_path, crashes, batches=[[ECHO]])
    assert (seen.result.status, seen.result.exit_code) == ("required_extension", 9)
    assert "extension exits_before_hello is required and could not be started: " in seen.result.reason
    assert "2 exits in " in seen.result.reason
    assert not seen.requests


def test_a_grandchild_that_holds_the_pipes_does_not_hide_a_death(tmp_path: Path) -> None:
    """The host gets no end of file: the grandchild holds stdin, stdout and stderr."""
    holder = program(
        tmp_path,
        "holder",
        'hello("die", "pid")\nsend(type="ready")\n'
        "for frame in frames():\n"
        '    if frame["name"] == "pid":\n'
        "        result(frame, str(os.getpid()))\n"
        "        continue\n"
        "    if os.fork() == 0:\n"
        "        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "        while True: signal.pause()\n"
        '    print("left one behind", file=sys.stderr)\n'
        "    os._exit(8)",
        restart=SOON,
    )
    seen = observe(tmp_path, holder, batches=[[DIE], [ECHO], [("pid", {})]], hold={2: is_back("holder")})
    check(seen)
    assert seen.answer_of("t1.0") == ('extension holder/die failed: it ended (exit 8): "left one behind"', True)
    assert not seen.answer_of("t3.0")[1]
    assert seen.result.extensions["holder"].timeouts == 0


def test_a_daemon_is_ended_with_the_process_that_left_it(tmp_path: Path) -> None:
    """The daemon has a session of its own and closed pipes; its environment identifies it."""
    daemon = program(
        tmp_path,
        "leaver",
        'hello("die", "alive")\nsend(type="ready")\n'
        "for frame in frames():\n"
        '    if frame["name"] == "alive":\n'
        '        alive = os.path.exists("/proc/" + open(sys.argv[1]).read())\n'
        "        result(frame, str(alive))\n"
        "        continue\n"
        "    read, write = os.pipe()\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        if pid := os.fork():\n"
        '            open(sys.argv[1], "w").write(str(pid))\n'
        "            os._exit(0)\n"
        "        null = os.open(os.devnull, os.O_RDWR)\n"
        "        for fd in (0, 1, 2): os.dup2(null, fd)\n"
        '        os.write(write, b".")\n'
        "        while True: signal.pause()\n"
        "    os.read(read, 1)\n"
        "    sys.exit(5)",
        tmp_path / "daemon",
        restart=SOON,
    )
    seen = observe(tmp_path, daemon, batches=[[DIE], [ECHO], [("alive", {})]], hold={2: is_back("leaver")})
    check(seen)
    assert seen.answer_of("t3.0") == ("False", False), "ended before the next process was started"


# --- hangs -----------------------------------------------------------------------------------------------------

HANGS = {
    "computing for ever": ("\n        while True: pass", "running"),
}


@pytest.mark.parametrize("hang", HANGS)
def test_a_hanging_extension_is_restarted_after_its_deadlines(hang: str, tmp_path: Path) -> None:
    code, state = HANGS[hang]
    hangs = program(
        tmp_path,
        "hangs",
        'hello("hang")\nsend(type="ready")\nprint("up and well", file=sys.stderr, flush=True)\n'
        'for frame in frames():\n    if frame["args"]: result(frame, "well")\n    else: ' + code,
        timeouts={"tool_call": 0.4},
        stall_after=2,
        restart=SOON,
    )
    hang_call: Call = ("hang", {})
    seen = observe(
        tmp_path,
        hangs,
        batches=[[hang_call], [hang_call], [ECHO], [("hang", {"not": True})]],
        hold={3: is_back("hangs")},
    )
    check(seen)
    for call in ("t1.0", "t2.0"):
        text, is_error = seen.answer_of(call)
        assert is_error
        assert "timeout waiting for hangs/hang" in text
    assert seen.answer_of("t4.0") == ("well", False)
    said = "\n".join(seen.lines_about("hangs"))
    assert "it hangs: 2 requests in a row without an answer in time" in said
    assert "restarting it in 0.1 s" in said
    log = (tmp_path / "home" / "logs" / "ext-hangs.log").read_text()
    for evidence in ("hangs: 2 requests", "its stderr before that: up and well", "rss ", state):
        assert evidence in log
    assert seen.result.extensions["hangs"].timeouts == 2


# --- workers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("retry", [True, False])
def test_a_crash_in_a_pool_costs_at_most_its_own_call(retry: bool, tmp_path: Path) -> None:
    """Of two workers the first that gets the call dies. A tool that may be called twice is answered by the other."""
    code = (
        'send(type="hello", name="x")\n'
        f'send(type="register_tool", name="work", schema={{"type": "object"}}, retry={retry})\n'
        'send(type="ready")\n'
        "for frame in frames():\n"
        "    try: os.close(os.open(sys.argv[1], os.O_CREAT | os.O_EXCL))\n"
        '    except FileExistsError: result(frame, "done")\n'
        "    else: sys.exit(3)"
    )
    pool = program(tmp_path, "pool", code, tmp_path / "mark", workers=2, restart=SOON)
    work: Any = [("work", {})]
    seen = observe(tmp_path, pool, batches=[work, work, [ECHO]], hold={1: is_full("pool", 2), 3: is_back("pool")})
    check(seen)
    text, is_error = seen.answer_of("t1.0")
    assert (text, is_error) == ("done", False) if retry else is_error
    assert seen.answer_of("t2.0") == ("done", False), "the other one works on"
    assert "work" in seen.offered(2)


def is_full(name: str, workers: int) -> Any:
    return lambda supervisor: [worker.state.value for worker in supervisor.find(name).workers] == ["ready"] * workers
