"""A real `zot host` tells a service manager of itself, as systemd wants it."""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.extension_folder import extension, folder
from tests.support.host_process import Hosted
from tests.support.service_manager import ServiceManager
from tests.support.zot_process import wait_until
from wire import control

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.zot_process import Running, Zot

GATED = """
import json, sys
open(sys.argv[1]).read()
print(json.dumps({"type": "hello", "name": "gated"}), flush=True)
print(json.dumps({"type": "ready"}), flush=True)
for line in sys.stdin:
    if json.loads(line)["type"] == "shutdown":
        print(json.dumps({"type": "shutdown_ack"}), flush=True)
        break
"""


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[ServiceManager]:
    with ServiceManager(tmp_path / "notify") as manager:
        yield manager


@contextmanager
def managed(zot: Zot, manager: ServiceManager, *flags: str | Path, **env: str) -> Iterator[Running]:
    named = {"NOTIFY_SOCKET": str(manager.path), **env}
    with zot.start("host", "--no-ext", *flags, env=named) as running:
        yield running


def gated(zot: Zot) -> tuple[Path, Path]:
    """An extension that says hello when someone has written to a pipe, and the pipe."""
    gate, script = zot.folder / "gate", zot.folder / "gated.py"
    os.mkfifo(gate)
    script.write_text(GATED)
    argv = [sys.executable, "-I", "-S", str(script), str(gate)]
    return folder(zot.folder, "gated", argv, timeouts={"hello": 60}), gate


def test_a_service_from_its_start_to_its_end(zot, manager):
    slow, gate = gated(zot)
    flags = ("-e", slow, "-e", extension(zot.folder, "env_dump"))
    with managed(zot, manager, *flags) as running:
        manager.wait_told(STATUS="1 of 2 extensions ready")
        assert manager.phases == [], "one extension still starts"
        gate.write_text("")
        assert manager.wait_told(READY="1") == {"READY": "1", "STATUS": "2 of 2 extensions ready"}
        host = Hosted(zot, running)
        assert not {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} & set(json.loads(host.call("env")))
        host.client.close()
        running.signal(signal.SIGTERM)
        outcome = running.finish()
        manager.take_all()
        assert manager.told[-1] == {"STOPPING": "1", "STATUS": "stopping"}
    assert (outcome.status, outcome.leftovers) == (0, [])
    assert manager.phases == ["READY", "STOPPING"]


def test_the_status_names_an_extension_that_has_fallen(zot, manager):
    fallen = extension(zot.folder, "echo", restart={"policy": "temporary"})
    with managed(zot, manager, "-e", fallen) as running:
        manager.wait_told(READY="1", STATUS="1 of 1 extension ready")
        os.kill(running.child("echo.py"), signal.SIGKILL)
        manager.wait_told(STATUS="0 of 1 extension ready; down: echo (failed)")
        running.signal(signal.SIGTERM)
        assert running.finish().status == 0


def test_an_extension_that_does_not_start_does_not_keep_the_service_from_being_ready(zot, manager):
    broken = folder(zot.folder, "broken", ["/bin/false"], restart={"policy": "temporary"})
    with managed(zot, manager, "-e", broken) as running:
        manager.wait_told(READY="1", STATUS="0 of 1 extension ready; down: broken (failed)")
        running.signal(signal.SIGTERM)
        assert running.finish().status == 0


def test_a_reload_is_told_from_its_beginning_to_its_end(zot, manager):
    with managed(zot, manager, "-e", extension(zot.folder, "echo")) as running:
        manager.wait_told(READY="1")
        running.signal(signal.SIGHUP)
        reloading = manager.wait_told(RELOADING="1")
        assert int(reloading["MONOTONIC_USEC"]) > 0
        manager.wait_for(lambda: manager.phases == ["READY", "RELOADING", "READY"])
        running.signal(signal.SIGTERM)
        assert running.finish().status == 0


def test_a_host_that_hangs_gives_no_sign_of_life(zot, manager):
    with managed(zot, manager, WATCHDOG_USEC="40000") as running:
        manager.wait_told(READY="1")
        manager.wait_for(lambda: manager.pings >= 3)
        running.signal(signal.SIGSTOP)
        wait_until(lambda: stopped(running.pid))
        manager.take_all()
        assert not manager.take(0.3), "it is stopped"
        running.signal(signal.SIGCONT)
        before = manager.pings
        manager.wait_for(lambda: manager.pings > before)
        running.signal(signal.SIGTERM)
        assert running.finish().status == 0


def stopped(pid: int) -> bool:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


def test_signs_of_life_for_another_process_are_not_given(zot, manager):
    with managed(zot, manager, WATCHDOG_USEC="40000", WATCHDOG_PID="1") as running:
        manager.wait_told(READY="1")
        host = Hosted(zot, running)
        host.client.ask(control.StopHost(host.client.next_id()), control.Ok)
        assert running.finish().status == 0
        host.client.close()
        manager.take_all()
    assert manager.pings == 0


def test_a_required_extension_that_is_missing_is_never_ready(zot, manager):
    broken: Any = folder(zot.folder, "broken", ["/bin/false"], required=True, restart={"policy": "temporary"})
    with managed(zot, manager, "-e", broken) as running:
        assert running.finish().status == 9
        manager.take_all()
    assert manager.phases == ["STOPPING"]


@pytest.mark.parametrize("address", ["/nowhere/notify", "vsock:2:1234"])
def test_a_manager_that_is_not_there_is_told_of_once(zot, address):
    with zot.start("host", "-e", extension(zot.folder, "echo"), env={"NOTIFY_SOCKET": address}) as running:
        host = Hosted(zot, running)
        host.settle()
        wait_until(lambda: "is not told of this host" in running.errors())
        assert host.call("echo", "it works") == "it works"
        host.client.close()
        running.signal(signal.SIGTERM)
        outcome = running.finish()
    assert outcome.status == 0
    assert outcome.stderr.count(f"NOTIFY_SOCKET={address}") == 1
