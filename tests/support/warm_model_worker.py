"""The model worker as a fork of a `zot` that has the SDK in memory: the import takes a second of a processor.

It is a child of the host, in a session of its own, on the host's pipes; its command line in /proc is that of the
template.
"""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any, NoReturn

from agent.model.sdk_import.load import has_stand_ins
from agent.model.worker import worker_main
from agent.model.worker_process import WORKER
from supervisor.process import child
from supervisor.template import reset
from supervisor.template.protocol import Fork, environment_block

COMMAND = [sys.executable, "-P", str(WORKER)]


def warm_up() -> None:
    worker_main.preload()
    assert has_stand_ins(), "the rehearsal has failed"


def install() -> None:
    """From now on the supervisor starts the worker's command line as a fork."""
    child.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": start})  # type: ignore[attr-defined]


def start(argv: Any, **given: Any) -> subprocess.Popen[bytes]:
    kind = ForkedWorker if list(argv) == COMMAND else subprocess.Popen
    return kind(argv, **given)


class ForkedWorker(subprocess.Popen[bytes]):
    def _execute_child(self, _args: Any, _executable: Any, *rest: Any) -> None:
        _preexec, _close, _pass, cwd, env, _info, _flags, _shell, *pipes = rest[:14]
        inherited = reset.Inherited.now()
        inherited.block_signals()
        self.pid = os.fork()
        if self.pid == 0:
            become(inherited, Fork(0, "", b"", os.fsencode(cwd), environment_block(env), None), pipes)
        inherited.unblock_signals()
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def become(inherited: reset.Inherited, request: Fork, pipes: list[int]) -> NoReturn:
    try:
        os.setsid()
        inherited.reset_signals()
        inherited.enter(request)
        reset.place_descriptors([pipes[0], pipes[3], pipes[5]], pipes[0])
        os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
        reset.reopen_streams([None] * 3)
        os._exit(reset.run(lambda _: worker_main.main(), b"", inherited.unblock_signals))
    except BaseException:
        os._exit(1)
