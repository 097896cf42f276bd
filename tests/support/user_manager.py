"""A real systemd, the manager of a user, for units of a host.

It runs in a mount namespace with a folder /run of its own, so that it takes the machine as booted by systemd. It is
that of root, which has the rights to apply the lines of a unit of the system, too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.zot_process import Zot

NAME = "zot-host"
SYSTEMD = Path("/lib/systemd/systemd")
SET_UP = """
set -e
mount -t tmpfs none /run
mkdir -p /run/systemd/system
umount -R /sys/fs/cgroup || :
mount -t cgroup2 none /sys/fs/cgroup
mkdir "/sys/fs/cgroup/$GROUP"
echo $$ > "/sys/fs/cgroup/$GROUP/cgroup.procs"
"""
RUN = """
"$SYSTEMD" --user || :
echo $$ > /sys/fs/cgroup/cgroup.procs
find "/sys/fs/cgroup/$GROUP" -depth -type d -exec rmdir {} +
"""


class Manager:
    """The manager of a user, and its commands."""

    def __init__(self, zot: Zot) -> None:
        runtime = zot.folder / "runtime"
        runtime.mkdir(mode=0o700)
        zot.env |= {"XDG_RUNTIME_DIR": str(runtime), "XDG_CONFIG_HOME": str(zot.folder / "config")}
        zot.env |= {"HOME": str(zot.folder), "GROUP": f"zot-test-{os.getpid()}", "SYSTEMD": str(SYSTEMD)}
        self.env = dict(zot.env)
        self.units = zot.folder / "config" / "systemd" / "user"
        self.socket = runtime / "systemd" / "private"

    def systemctl(self, *words: str) -> str:
        argv = ["systemctl", "--user", *words]
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def show(self, name: str) -> str:
        return self.systemctl("show", NAME, "--property", name, "--value")

    def let_all_notify(self) -> None:
        """Lets services of other accounts send their states, as the system's manager does."""
        self.socket.parents[1].chmod(0o711)
        self.socket.with_name("notify").chmod(0o777)

    @property
    def host(self) -> int:
        return int(self.show("MainPID"))

    def wait_for(self, name: str, value: str) -> None:
        wait_until(lambda: self.show(name) == value, pause_s=0.05)


@contextmanager
def started(zot: Zot) -> Iterator[Manager]:
    """Runs the manager; skips the test where none can run."""
    need_systemd()
    made = Manager(zot)
    argv = ["unshare", "--mount", "sh", "-c", SET_UP + RUN]
    with subprocess.Popen(argv, env=made.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: made.socket.exists() or process.poll() is not None)
        try:
            yield made
        finally:
            made.systemctl("exit")
            process.wait(PATIENCE_S)


def need_systemd() -> None:
    if not SYSTEMD.exists() or not shutil.which("systemctl") or not shutil.which("unshare"):
        pytest.skip("no systemd here")
    tried = "mount -t tmpfs none /run && { umount -R /sys/fs/cgroup || :; } && mount -t cgroup2 none /sys/fs/cgroup"
    argv = ["unshare", "--mount", "sh", "-c", f"{tried} && : >> /sys/fs/cgroup/cgroup.procs"]
    if os.geteuid() != 0 or subprocess.run(argv, capture_output=True, check=False).returncode:
        pytest.skip("no mount may be made here")
