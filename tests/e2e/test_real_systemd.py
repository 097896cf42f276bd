"""A real systemd, the manager of a user, keeps a host running by the unit that `zot host install` writes."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from tests.support.extension_folder import extension
from tests.support.user_manager import NAME, started
from tests.support.zot_process import wait_until

OFTEN = "[Service]\nWatchdogSec=1\nRestartSec=0\n"


@pytest.fixture
def manager(zot):
    with started(zot) as made:
        yield made


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
