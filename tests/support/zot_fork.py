"""`zot` in a fork of the process that runs the tests: the same command without its imports."""

from __future__ import annotations

import functools
import gc
import os
import sys
import tempfile
import traceback
import warnings
from typing import TYPE_CHECKING, Any

from cli.app import main
from tests.support import zot_template
from tests.support.zot_process import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.zot_process import Zot


def run(zot: Zot, *args: str | Path, cwd: Path | None = None, stdin: int | None = None) -> Outcome:
    """Its own folder, environment, streams and exit status. For commands that end by themselves."""
    _warm_up()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # pytest-xdist has a thread
            pid = os.fork()
        if pid == 0:
            _become(zot, [str(arg) for arg in args], cwd or zot.cwd, (stdin, out.fileno(), err.fileno()))
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        out.seek(0)
        err.seek(0)
        return Outcome(status, out.read(), err.read().decode(errors="replace"))


@functools.cache
def _warm_up() -> None:
    """Imports in this process what each fork would import anew, which takes a tenth of a second."""
    zot_template.warm_up()


def _become(zot: Zot, args: list[str], cwd: Path, streams: tuple[Any, int, int]) -> None:
    status: Any = 70
    gc.freeze()  # a collection would copy all that the tests have in memory
    try:
        stdin, stdout, stderr = streams
        os.dup2(os.open(os.devnull, os.O_RDONLY) if stdin is None else stdin, 0)
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        sys.stdin, sys.stdout, sys.stderr = (
            open(fd, mode, closefd=False, errors="backslashreplace" if fd == 2 else None)  # noqa: SIM115
            for fd, mode in enumerate("rww")
        )
        os.environ.clear()
        os.environ.update(zot.env)
        os.chdir(cwd)
        sys.argv = ["zot", *args]
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code or 0
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status if isinstance(status, int) else 1)
