"""A host for tests, to be killed: keeps a record, has a watchdog, and starts children of all kinds until it dies.

Usage: doomed_host.py FOLDER TOKEN MARK [CHILDREN [PAUSE_S]]. Says its watchdog's pid in the first line, and the pid of
each child in one of its own. What the children start can be known by MARK in their command lines. On standard input:
`note PID STARTED` and `forget PID STARTED` are passed on to the watchdog, `fork` makes a copy that holds its pipe,
`name` has it say the watchdog's pid again.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import cycle, islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from supervisor.child import Child
from supervisor.host_record import HostRecord
from supervisor.loop import Loop
from supervisor.pipes import Inlet
from supervisor.processes import Identity
from supervisor.reaper import Reaper
from supervisor.remains import TOKEN

KINDS = {
    "plain": "exec sleep 600.{mark}",
    "stubborn": "trap '' TERM HUP INT; sleep 600.{mark} & sleep 600.{mark}",
    "daemon": "setsid sh -c 'sleep 600.{mark} & sleep 600.{mark} &' & exec sleep 600.{mark}",
    "gone": "setsid sh -c 'sleep 600.{mark} &'",
    "left behind": "sleep 600.{mark} & exit 3",
    "other session, no token": "env -i setsid sleep 600.{mark} & exec sleep 600.{mark}",
    "own session, no token": "(env -i sleep 600.{mark} &); exec sleep 600.{mark}",
    "busy": "while :; do sleep 0.01{mark}; done",
    "stopped": "kill -STOP $$; exec sleep 600.{mark}",
}


def main() -> None:
    folder, token, mark = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    count = int(sys.argv[4]) if len(sys.argv) > 4 else len(KINDS)
    pause = float(sys.argv[5]) if len(sys.argv) > 5 else 0.0
    loop = Loop()
    folder.mkdir(parents=True, exist_ok=True)
    record = HostRecord.of_this_process(token, "0").write(folder)
    reaper = Reaper(loop, token, record=record, on_error=lambda line: say(f"error {line}"))
    reaper.start()
    say(f"watchdog {reaper.pid}")
    Inlet(loop, os.dup(0), lambda data: obey(data, reaper), lambda: None)
    for script in islice(cycle(KINDS.values()), count):
        start(loop, reaper, script.format(mark=mark), {**os.environ, TOKEN: token})
        loop.run_until(lambda: False, loop.clock() + pause)
    say("all there")
    loop.run_until(lambda: False)


def start(loop: Loop, reaper: Reaper, script: str, env: dict[str, str]) -> None:
    child = Child(
        loop,
        ["/bin/sh", "-c", script],
        cwd="/",
        env=env,
        on_stdout=lambda _: None,
        on_exit=lambda _: reaper.forget(child.identity),
    )
    reaper.note(child.identity)
    say(f"child {child.pid}")


def obey(data: bytes, reaper: Reaper) -> None:
    for line in data.decode().splitlines():
        word, *rest = line.split()
        if word == "note":
            reaper.note(Identity(int(rest[0]), float(rest[1])))
        elif word == "other":
            reaper.note(Identity(int(rest[0]), float(rest[1])), is_child=False)
        elif word == "forget":
            reaper.forget(Identity(int(rest[0]), float(rest[1])))
        elif word == "fork":
            copy = os.fork()
            if copy == 0:
                signal.pause()
            say(f"copy {copy}")
        elif word == "name":
            say(f"watchdog {reaper.pid}")


def say(line: str) -> None:
    os.write(1, line.encode() + b"\n")


if __name__ == "__main__":
    main()
