"""How a command ends the process: with its status, whatever goes wrong."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def exit_with(command: str, run: Callable[[], int]) -> None:
    """Runs it and exits with its status; a host that cannot be asked gets one line and status 1, a reader that leaves
    130."""
    from supervisor.control_client import HostError
    from supervisor.logs import one_line

    try:
        status = run()
    except HostError as error:
        print(f"zot {command}: {one_line(str(error), 2000)}", file=sys.stderr)  # noqa: T201
        status = 1
    except BrokenPipeError:
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the flush at exit must not complain again
        status = 130
    sys.exit(status)
