"""The model worker as a fork of a `zot` that has the SDK in memory: the import takes a second of a processor.

What the worker then does, from its first line on, is what `worker_main.py` does. It is a child of the host, in a
session of its own, on the host's pipes; its command line in /proc is that of the zygote.
"""

from __future__ import annotations

import gc
import os
import runpy
import signal
import subprocess
import sys
import traceback
from types import SimpleNamespace
from typing import Any, NoReturn

from standard_streams import reopen

from agent.model.sdk_import.load import has_stand_ins, load_sdk
from agent.model.worker_process import WORKER
from supervisor.process import child

COMMAND = [sys.executable, "-P", str(WORKER)]
OF_PYTHON = {signal.SIGINT: signal.default_int_handler, signal.SIGPIPE: signal.SIG_IGN, signal.SIGXFSZ: signal.SIG_IGN}
"""Signal handlers of a new interpreter; all other signals have the kernel's default."""


def warm_up() -> None:
    gc.disable()
    load_sdk()
    gc.enable()
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
        self.pid = os.fork()
        if self.pid == 0:
            become(cwd, env, (pipes[0], pipes[3], pipes[5]))
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def become(cwd: str, env: dict[str, str], streams: tuple[int, ...]) -> NoReturn:
    status = 1
    try:
        os.setsid()
        os.chdir(cwd)
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            if signal.getsignal(number) is not None:
                signal.signal(number, OF_PYTHON.get(number, signal.SIG_DFL))  # type: ignore[call-overload]
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for number, fd in enumerate(streams):
            os.dup2(fd, number)
        os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
        os.environ.clear()
        os.environ.update(env)
        reopen()
        sys.argv = [str(WORKER)]
        runpy.run_path(str(WORKER), run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
