"""A template whose forks are `python -m pyzot`. Usage: `zot_template.py zot|zot_with_model FD`.

It is a program of its own, so its forks have no modules, threads, handlers or warning filters of the tests. With
`zot_with_model`, the SDK is in memory as well, and a run makes its model worker of it, a batch its template.
`warm_start.py` is the parent.

The argument of a request is `[argv, mark, new session, process group]` in JSON. Its descriptors are the standard
streams and a pipe, which gets `[errno, text]` when all is set, with errno 0, or if it cannot be set.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib
import json
import os
import pkgutil
import runpy
import signal
import sys
import threading

from supervisor.cleanup.env_marks import TOKEN
from supervisor.template.server import serve
from tests.support.warm_start import MARK

MARK_BYTES = 32
"""Also of a token."""
ENV_START = 47
"""Index of the word of /proc/self/stat, after the name, with the address of the environment."""
ANSWER = 3
"""The descriptor of the pipe."""


def warm_up() -> None:
    """Imports all modules of the command and of a run, but not typer's help, which reads the environment then. Has
    typer make the commands of their signatures, which are the same in each process."""
    import typer.core
    import typer.main

    import cli

    for module in pkgutil.walk_packages(cli.__path__, "cli."):
        importlib.import_module(module.name)
    from cli.app import app

    typer.main.get_command = functools.cache(typer.main.get_command)
    for command in typer.main.get_command(app).commands.values():  # type: ignore[attr-defined]
        if isinstance(command, typer.core.TyperGroup):
            command.list_commands(typer.Context(command))


def zot(argument: bytes) -> None:
    argv, mark, new_session, group = json.loads(argument)
    try:
        if new_session:
            os.setsid()
        if group is not None:
            os.setpgid(0, group)
    except OSError as error:
        answer([error.errno, str(error)])
        os._exit(255)
    overwrite(MARK_ADDRESS, mark.encode())
    sys.argv = argv
    sys.path[0] = os.getcwd()
    answer([0, ""])
    try:
        runpy.run_module("pyzot", run_name="__main__", alter_sys=True)
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()


def answer(error: list[object]) -> None:
    os.write(ANSWER, json.dumps(error).encode())
    os.close(ANSWER)


def address_of(name: str) -> int:
    """Where the kernel finds the value of a variable, which it shows as part of the environment."""
    with open("/proc/self/stat") as file:
        words = file.read().rpartition(")")[2].split()
    start, end = int(words[ENV_START]), int(words[ENV_START + 1])
    written = b"\0" + name.encode() + b"="
    return start + (b"\0" + ctypes.string_at(start, end - start)).index(written) + len(written) - 1


def overwrite(address: int, value: bytes) -> None:
    """Writes the value of a run over the template's own."""
    assert len(value) == MARK_BYTES
    ctypes.memmove(address, value, MARK_BYTES)


if __name__ == "__main__":
    MARK_ADDRESS, TOKEN_ADDRESS = address_of(MARK), address_of(TOKEN)
    signal.signal(signal.SIGINT, lambda _number, _frame: None)  # of the terminal, which the template shares with tests
    warm_up()
    if sys.argv[1] == "zot_with_model":
        from tests.support import warm_programs

        warm_programs.warm_up()
        warm_programs.install(functools.partial(overwrite, TOKEN_ADDRESS))
    serve(int(sys.argv[2]), {sys.argv[1]: zot}, detached=True)
