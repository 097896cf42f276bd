"""Entry of the `zot` command.

The packages of this project have plain names (`wire`, `agent`, `cli`, …), and a user's project may have folders of the
same names on `PYTHONPATH`. So the folder of this installation goes first on `sys.path` before anything is imported.
"""

from __future__ import annotations

import os
import sys

__version__ = "0.1.0"


def main() -> None:
    if sys.argv[1:] in (["--version"], ["-v"]):
        print(f"zot {__version__}")  # noqa: T201
        return
    _fill_standard_streams()
    _end_quietly_when_asked_early()
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    try:
        from cli.app import main as command

        command()
    except KeyboardInterrupt:  # before there is anything to stop
        sys.exit(130)


def _end_quietly_when_asked_early() -> None:
    """Until a run has begun, and watches for signals itself, there is nothing to stop: 130 says what happened."""
    import signal

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda _number, _frame: sys.exit(130))


def _fill_standard_streams() -> None:
    """A standard stream that is closed (`>&-`) becomes /dev/null. Otherwise the next file or pipe to be opened would
    get its number, and what is meant for the user would be written there."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    main()
