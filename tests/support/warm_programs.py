"""Model workers, and the templates of a batch and of `zot rpc --listen`, as forks of a `zot` that has the SDK in
memory: the import takes a second of a processor.

Each is a child of the host, in a session of its own, on the host's pipes; its command line in /proc is that of the
tests' template. The forks of a template bear the token of its owner in /proc, as they do without the tests.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

from agent.batch.pool.processes import RUNS
from agent.batch.run import run_main, template_main
from agent.listener import conversation_main
from agent.listener import template_main as listener_template
from agent.listener.listener import FORKED
from agent.model.sdk_import.load import has_stand_ins
from agent.model.worker import worker_main
from agent.model.worker_process import WORKER
from supervisor.cleanup.env_marks import TOKEN
from supervisor.process import child
from supervisor.template import reset
from supervisor.template.protocol import Fork, environment_block
from supervisor.template.server import serve

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = [sys.executable, "-P", str(WORKER)]
ENTRIES: dict[str, dict[str, Callable[[bytes], int | None]]] = {
    str(RUNS.template): {"run": run_main.main, "model_worker": template_main.model_worker},
    str(FORKED.template): {"conversation": conversation_main.main, "model_worker": template_main.model_worker},
}
"""The functions of each template, by its program."""
SOCKET = 3


def warm_up() -> None:
    listener_template.prepare()
    assert has_stand_ins(), "the rehearsal has failed"


def install(show_token: Callable[[bytes], None]) -> None:
    """From now on the supervisor starts these command lines as forks. `show_token` writes a token to where /proc
    shows it."""
    forked = partial(start, show_token)
    child.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": forked})  # type: ignore[attr-defined]


def start(show_token: Callable[[bytes], None], argv: Any, **given: Any) -> subprocess.Popen[bytes]:
    if list(argv) == COMMAND:
        return Forked(argv, main=worker_main.main, **given)
    if list(argv)[:2] == COMMAND[:2] and (entries := ENTRIES.get(argv[2])) is not None:
        return Forked(argv, main=partial(serve_forks, show_token, entries), **given)
    return subprocess.Popen(argv, **given)


def serve_forks(show_token: Callable[[bytes], None], entries: dict[str, Callable[[bytes], int | None]]) -> NoReturn:
    show_token(os.environb[TOKEN.encode()])
    gc.freeze()  # what the host has in memory is never given back: its descriptors are others here
    serve(SOCKET, entries)


class Forked(subprocess.Popen[bytes]):
    """A fork of this process that calls `main`. A descriptor that is passed on is the fork's `SOCKET`."""

    def __init__(self, argv: Any, *, main: Callable[[], int | None], **given: Any) -> None:
        self._main = main
        super().__init__(argv, **given)

    def _execute_child(self, _args: Any, _executable: Any, *rest: Any) -> None:
        _preexec, _close, passed, cwd, env, _info, _flags, _shell, *pipes = rest[:14]
        inherited = reset.Inherited.now()
        inherited.block_signals()
        self.pid = os.fork()
        if self.pid == 0:
            request = Fork(0, "", b"", os.fsencode(cwd), environment_block(env), None)
            become(inherited, request, [pipes[0], pipes[3], pipes[5], *passed], self._main)
        inherited.unblock_signals()
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def become(inherited: reset.Inherited, request: Fork, fds: list[int], main: Callable[[], int | None]) -> NoReturn:
    try:
        os.setsid()
        inherited.reset_signals()
        inherited.enter(request)
        reset.place_descriptors(fds, fds[0])
        os.closerange(len(fds), max(map(int, os.listdir("/proc/self/fd"))) + 1)
        reset.reopen_streams([None] * 3)
        os._exit(reset.run(lambda _: main(), b"", inherited.unblock_signals))
    except BaseException:
        os._exit(1)
