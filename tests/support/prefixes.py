"""Prefixes for `--in` in tests: bubblewrap where it works, and a script that shows how the command was started."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

BWRAP = (
    "bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs {hidden} --bind {workspace} {workspace} --chdir {workspace}"
    " --unshare-pid --unshare-net --die-with-parent"
)


def bwrap(hidden: Path) -> str:
    """A container that has its workspace and no file of the folder `hidden`, and no network."""
    return BWRAP.replace("{hidden}", str(hidden))


def why_no_bwrap() -> str:
    """Why bubblewrap cannot be used here; "" if it can."""
    if shutil.which("bwrap") is None:
        return "no bwrap here"
    command = ["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--unshare-pid", "true"]
    tried = subprocess.run(command, capture_output=True, check=False)
    return "" if tried.returncode == 0 else "bwrap cannot make namespaces here"


SCRIPT = """#!/bin/sh
# container WORKSPACE COMMAND…: notes the command, and runs it with IN=side; exits as docker does while $1.down exists
[ -e "$1.down" ] && { echo "container: the daemon is down" >&2; exit 125; }
workspace=$1; shift
echo "$PWD: $*" >> "$workspace.log"
IN=side exec "$@"
"""


def script_prefix(folder: Path) -> str:
    """A prefix that is a script, which isolates nothing."""
    path = folder / "container"
    path.write_text(SCRIPT)
    path.chmod(0o755)
    return f"{path} {{workspace}}"
