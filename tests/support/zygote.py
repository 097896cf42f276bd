"""A process that has the modules of `zot` in memory, and forks a `zot` for each request.

It is a program of its own, so it has no modules, threads, handlers or warning filters of the tests.
Usage: `zygote.py FD plain|model`; FD is its end of a SEQPACKET pair; with `model`, the SDK is in memory as well, and a
run makes its model worker of it. A request is `[argv, env, cwd, new session, process group]` with three descriptors;
the reply is `{"pid": N}`, or `{"pid": N, "errno": N, "why": TEXT}` if the child could not start and has ended. The
child's parent is the nearest subreaper above. `warm_start.py` is the other end.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
import threading
import time
from typing import Any, NoReturn

from standard_streams import reopen

REQUEST_BYTES = 1 << 17
MARK = b"ZOT_TEST_RUN="
"""Inherited variable that tests look for in /proc, which shows the value at the start of the process."""
MARK_BYTES = 32
ENV_START = 47
"""Index of the word of /proc/self/stat, after the name, with the address of the environment."""


def warm_up() -> None:
    """Imports all modules of the command and of a run, but not typer's help, which reads the environment then. Has
    typer read the signatures of all commands, which are the same in each process."""
    import typer.core
    import typer.main

    import cli

    for module in pkgutil.walk_packages(cli.__path__, "cli."):
        importlib.import_module(module.name)
    from cli.app import app

    typer.main.get_params_from_function = functools.cache(typer.main.get_params_from_function)  # type: ignore[attr-defined]
    for command in typer.main.get_command(app).commands.values():  # type: ignore[attr-defined]
        if isinstance(command, typer.core.TyperGroup):
            command.list_commands(typer.Context(command))


def serve(server: socket.socket) -> None:
    """Returns in each child, which goes on as `zot`. The zygote itself ends here, with its last client."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    server.send(b"ready")
    while True:
        request, fds, _, _ = socket.recv_fds(server, REQUEST_BYTES, 3)
        if not request:
            os._exit(0)
        between = os.fork()
        if between == 0:
            between = os.getpid()
            if os.fork() == 0:
                become(server, between, json.loads(request), fds)
                return
            os._exit(0)
        os.waitpid(between, 0)
        for fd in fds:
            os.close(fd)


def become(server: socket.socket, between: int, request: list[Any], fds: list[int]) -> None:
    """Makes the child equal to a new `python -m pyzot`; replies when parent, streams, folder and group are set."""
    argv, env, cwd, new_session, group = request
    while os.getppid() == between:
        time.sleep(0.0002)
    try:
        os.chdir(cwd)
        if new_session:
            os.setsid()
        if group is not None:
            os.setpgid(0, group)
        mark(env)
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
        os.environ.clear()
        os.environ.update(env)
        time.tzset()
        reopen()
        sys.argv = argv
        sys.path[0] = os.getcwd()
        signal.signal(signal.SIGINT, signal.default_int_handler)
    except Exception as error:
        number = getattr(error, "errno", 0)
        server.send(json.dumps({"pid": os.getpid(), "errno": number, "why": repr(error)}).encode())
        os._exit(255)
    server.send(json.dumps({"pid": os.getpid()}).encode())
    server.close()
    for fd in fds:
        os.close(fd)


def mark(env: dict[str, str]) -> None:
    """Writes the run's mark over the zygote's own, in the memory that the kernel shows as the environment."""
    with open("/proc/self/stat") as file:
        words = file.read().rpartition(")")[2].split()
    start, end = int(words[ENV_START]), int(words[ENV_START + 1])
    at = ctypes.string_at(start, end - start).index(MARK) + len(MARK)
    value = env[MARK.decode()[:-1]].encode()
    assert len(value) == MARK_BYTES
    ctypes.memmove(start + at, value, MARK_BYTES)


def run() -> NoReturn:
    status = 0
    try:
        runpy.run_module("pyzot", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        status = end.code or 0
    leave(status)


def leave(status: int) -> NoReturn:
    """Ends the process as Python does, but takes no module apart: that would copy the memory which is shared with the
    zygote, and takes longer than many a run."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(status)  # Python says what is wrong, and has a status for it
    os._exit(status & 0xFF)


if __name__ == "__main__":
    warm_up()
    with_model = sys.argv[2] == "model"
    if with_model:
        import warm_model_worker

        warm_model_worker.warm_up()
    serve(socket.socket(fileno=int(sys.argv[1])))
    if with_model:
        warm_model_worker.install()
    run()
