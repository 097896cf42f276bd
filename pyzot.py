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
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    from cli.app import app

    app(prog_name="zot")


if __name__ == "__main__":
    main()
