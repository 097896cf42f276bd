"""A real systemd, the manager of a user, keeps a host running by the unit that `zot host install` writes.

The manager runs in a mount namespace with a folder /run of its own, so that it takes the machine as booted by systemd.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.support.extension_folder import extension
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
OFTEN = "[Service]\nWatchdogSec=1\nRestartSec=0\n"


class Manager:
    """The manager of a user, and its commands."""

    def __init__(self, zot: Zot) -> None:
        self.zot = zot
        runtime = zot.folder / "runtime"
        runtime.mkdir(mode=0o700)
        zot.env |= {"XDG_RUNTIME_DIR": str(runtime), "XDG_CONFIG_HOME": str(zot.folder / "config")}
        zot.env |= {"HOME": str(zot.folder), "GROUP": f"zot-test-{os.getpid()}", "SYSTEMD": str(SYSTEMD)}
        self.units = zot.folder / "config" / "systemd" / "user"
        self.socket = runtime / "systemd" / "private"

    def systemctl(self, *words: str) -> str:
        argv = ["systemctl", "--user", *words]
        done = subprocess.run(argv, env=self.zot.env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def show(self, name: str) -> str:
        return self.systemctl("show", NAME, "--property", name, "--value")

    @property
    def host(self) -> int:
        return int(self.show("MainPID"))

    def wait_for(self, name: str, value: str) -> None:
        wait_until(lambda: self.show(name) == value, pause_s=0.05)


@pytest.fixture
def manager(zot: Zot) -> Iterator[Manager]:
    need_systemd()
    made = Manager(zot)
    argv = ["unshare", "--mount", "sh", "-c", SET_UP + RUN]
    with subprocess.Popen(argv, env=zot.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
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


@pytest.mark.slow
def test_a_real_systemd_keeps_the_host_running(zot, manager):
    assert zot.run("host", "install", "--user", "-e", extension(zot.folder, "echo")).status == 0
    (manager.units / f"{NAME}.service.d").mkdir()
    (manager.units / f"{NAME}.service.d" / "often.conf").write_text(OFTEN)
    manager.systemctl("daemon-reload")

    manager.systemctl("start", NAME)
    assert (manager.show("ActiveState"), manager.show("StatusText")) == ("active", "1 of 1 extension ready")
    first = manager.host
    assert zot.run("host", "health", str(first)).status == 0
    assert zot.run("ext", "call", "echo", "echo", '{"text": "hello"}').status == 0

    manager.systemctl("reload", NAME)
    wait_until(lambda: manager.show("SubState") == "running")
    assert manager.host == first

    os.kill(first, signal.SIGSTOP)  # it hangs
    manager.wait_for("NRestarts", "1")
    manager.wait_for("StatusText", "1 of 1 extension ready")
    second = manager.host
    assert second not in (0, first)
    assert not psutil.pid_exists(first)

    os.kill(second, signal.SIGKILL)
    manager.wait_for("NRestarts", "2")
    manager.wait_for("ActiveState", "active")
    third = psutil.Process(manager.host)
    began = third.children(recursive=True)

    manager.systemctl("stop", NAME)
    assert (manager.show("ActiveState"), manager.show("Result")) == ("inactive", "success")
    assert not any(process.is_running() for process in (third, *began))

    manager.systemctl("start", NAME)
    assert zot.run("stop").status == 0
    manager.wait_for("ActiveState", "inactive")
    assert manager.show("Result") == "success", "who stops a host does not want it back"
