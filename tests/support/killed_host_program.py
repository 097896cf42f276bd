"""A host for tests, to be killed: keeps a record, has a reaper, and starts children of all kinds until it dies.

Usage: killed_host_program.py FOLDER TOKEN MARK KIND,… PAUSE_S. It says its reaper's pid in the first line, and the pid
of each child in a line of its own. All processes that the children start have MARK in their command lines. On standard
input: `note PID STARTED`, `other PID STARTED` and `forget PID STARTED` are passed on to the reaper, `fork` makes a copy
that holds its pipe, `name` has it say the reaper's pid again.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from supervisor.cleanup.env_marks import TOKEN
from supervisor.cleanup.tracker import ProcessTracker
from supervisor.loop.loop import Loop
from supervisor.loop.pipes import PipeReader
from supervisor.process.child import Child
from supervisor.process.table import Identity
from wire.manifest import Limits

KINDS = {
    "plain": "exec sleep 600.{mark}",
    "stubborn": "trap '' TERM HUP INT; sleep 600.{mark} & sleep 600.{mark}",
    "daemon": "setsid sh -c 'sleep 600.{mark} & sleep 600.{mark} &' & exec sleep 600.{mark}",
    "gone": "setsid sh -c 'sleep 600.{mark} &'",
    "left behind": "sleep 600.{mark} & exit 3",
    "scrubbed in a session": "env -i setsid sleep 600.{mark} & exec sleep 600.{mark}",
    "scrubbed": "(env -i sleep 600.{mark} &); exec sleep 600.{mark}",
    "busy": "while :; do sleep 0.01{mark}; done",
    "hidden": "env -i setsid sh -c 'setsid sleep 600.{mark} & exit'; exec sleep 600.{mark}",
    "stopped": "kill -STOP $$; exec sleep 600.{mark}",
}


FOR_A_LEAF = Limits(processes=1000)
"""Each child gets a cgroup leaf, where the host has cgroups."""
STARTED: set[int] = set()
"""Pids of the children."""


def main() -> None:
    folder, token, mark = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    kinds = [kind for kind in sys.argv[4].split(",") if kind]
    pause = float(sys.argv[5])
    loop = Loop()
    tracker = ProcessTracker(
        loop, token, folder=folder, version="0", owns_process=True, say=lambda line: say(f"said {line}")
    )  # fmt: skip
    tracker.open()
    say_reaper(loop)
    PipeReader(loop, os.dup(0), lambda data: obey(data, loop, tracker), lambda: None)
    for kind in kinds:
        start(loop, tracker, KINDS[kind].format(mark=mark), {**os.environ, TOKEN: token})
        loop.run_until(lambda: False, loop.clock() + pause)
    say("all there")
    loop.run_until(lambda: False)


def start(loop: Loop, tracker: ProcessTracker, script: str, env: dict[str, str]) -> None:
    argv, leaf = tracker.confine("x", ["/bin/sh", "-c", script], FOR_A_LEAF, cwd="/", env=env)
    child = Child(
        loop,
        argv,
        cwd="/",
        env=env,
        on_stdout=lambda _: None,
        on_exit=lambda _: tracker.collected(child.identity),
    )
    tracker.started(child, leaf)
    STARTED.add(child.pid)
    say(f"child {child.pid}")


def say_reaper(loop: Loop) -> None:
    """The reaper is the only child that this program has not started itself. None between its end and the next one."""
    pid = next(iter(loop.children - STARTED), None)
    say(f"reaper {pid}")


def obey(data: bytes, loop: Loop, tracker: ProcessTracker) -> None:
    for line in data.decode().splitlines():
        word, *rest = line.split()
        if word == "note":
            tracker._reaper.add(Identity(int(rest[0]), float(rest[1])))
        elif word == "other":
            tracker.adopted(Identity(int(rest[0]), float(rest[1])))
        elif word == "forget":
            tracker.collected(Identity(int(rest[0]), float(rest[1])))
        elif word == "fork":
            copy = os.fork()
            if copy == 0:
                signal.pause()
            say(f"copy {copy}")
        elif word == "name":
            say_reaper(loop)


def say(line: str) -> None:
    os.write(1, line.encode() + b"\n")


if __name__ == "__main__":
    main()
