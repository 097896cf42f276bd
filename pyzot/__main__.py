"""Entry of the `zot` command, and the only module of `pyzot` that imports the programs.

The programs are the packages `wire`, `supervisor`, `agent` and `cli`. These are plain names: a user's project may have
folders of the same names on `PYTHONPATH`, and site-packages a distribution called `supervisor`. So the wheel installs
the four in a folder of their own, `pyzot/_programs`, and that folder goes first on `sys.path`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    _fill_standard_streams()
    _end_quietly_when_asked_early()
    _find_programs()
    try:
        if sys.argv[1:] in (["--version"], ["-v"]):
            from cli.version import VERSION

            _print(f"zot {VERSION}")
            return
        from cli.run import screen

        screen.opener = _open_screen
        if not sys.argv[1:] and screen.is_wanted({}):
            sys.exit(screen.open_screen({}, ()))
        from cli.run.plain import carry_out, read

        if (asked := read(sys.argv[1:])) is not None:
            carry_out(asked)
            return
        from cli.app import main as command

        command()
    except KeyboardInterrupt:  # before a run has begun
        sys.exit(130)


def _open_screen(options: dict[str, Any], *, first: str, plain: bool) -> int:
    if plain:
        from pyzot.screen.plain import serve
    else:
        from pyzot.screen.terminal.screen import serve
    return serve(options, first=first)


def _print(line: str) -> None:
    """Prints a line; exits if that fails, without a traceback."""
    try:
        print(line, flush=True)  # noqa: T201
    except OSError as error:
        from cli.os_errors import exit_after

        exit_after(error)


def _find_programs() -> None:
    """Puts the folder of the programs first on `sys.path`: `_programs` beside this file, or in a checkout the folder
    above it. Removes the folder of this file, which Python adds for `python PATH/pyzot/__main__.py`: its modules could
    hide modules of the standard library."""
    here = os.path.dirname(os.path.abspath(__file__))
    programs = os.path.join(here, "_programs")
    sys.path[:] = [entry for entry in sys.path if entry == "" or os.path.abspath(entry) != here]
    sys.path.insert(0, programs if os.path.isdir(programs) else os.path.dirname(here))


def _end_quietly_when_asked_early() -> None:
    """Lets SIGTERM and SIGHUP exit with status 130, until a run begins and handles signals itself. During an import it
    exits at once: an exception there can leave compiled modules half initialised, and crash them."""
    import signal

    def end(number: int, frame: object) -> None:
        if _is_importing(frame):
            os._exit(130)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        sys.exit(130)

    for number, before in (
        (signal.SIGTERM, signal.SIG_DFL),
        (signal.SIGHUP, signal.SIG_DFL),
        (signal.SIGINT, signal.default_int_handler),
    ):
        if signal.getsignal(number) is before:
            signal.signal(number, end)


def _is_importing(frame: Any) -> bool:
    """Whether a module is being imported in this frame or in one of its callers."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _fill_standard_streams() -> None:
    """Opens /dev/null for each standard stream that is closed (`>&-`). Otherwise the next opened file or pipe would get
    its number, and receive text for the user."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    main()
