"""A service manager gets each value, also late; one that is full or gone disturbs nothing."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.loop.loop import Loop
from supervisor.service.notify_socket import NotifyAddress, NotifySocket, ping_interval
from tests.support.patience import soon
from tests.support.service_manager import ServiceManager

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


def test_the_variables_leave_the_environment():
    environ = {"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "7", "PATH": "/bin"}
    assert NotifyAddress.take(environ, 7) == NotifyAddress("@x", 1.5)
    assert environ == {"PATH": "/bin"}
    assert NotifyAddress.take(environ, 7) == NotifyAddress("", None)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "1"}, 0.01),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "-5"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "²"}, None),
        ({}, None),
    ],
)
def test_how_often_the_manager_wants_a_sign_of_life(values: dict[str, str], expected: float | None):
    assert ping_interval(values, 7) == expected


@given(st.text(), st.text())
def test_no_text_is_a_fault(usec: str, pid: str):
    found = ping_interval({"WATCHDOG_USEC": usec, "WATCHDOG_PID": pid}, 7)
    assert found is None or found > 0


def test_values_come_in_one_datagram(tmp_path: Path, loop: Loop):
    with ServiceManager(tmp_path / "s") as manager:
        NotifySocket(loop, str(manager.path), pytest.fail).send({"READY": "1", "STATUS": "all ümlauts"})
        manager.take_all()
        assert manager.told == [{"READY": "1", "STATUS": "all ümlauts"}]


@pytest.mark.skipif(sys.platform != "linux", reason="abstract sockets are Linux's")
def test_an_abstract_socket(loop: Loop):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("")
        name = manager.getsockname()[1:].decode()
        NotifySocket(loop, f"@{name}", pytest.fail).send({"READY": "1"})
        assert manager.recv(100) == b"READY=1"


def fill(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                sender.sendto(b"X=1", str(path))


def test_a_full_queue_gets_the_newest_values_later(tmp_path: Path, loop: Loop):
    with ServiceManager(tmp_path / "s") as manager:
        fill(manager.path)
        told = NotifySocket(loop, str(manager.path), pytest.fail)
        told.send({"READY": "1", "STATUS": "one"})
        told.ping()
        told.send({"STATUS": "two"})
        told.send({"RELOADING": "1", "MONOTONIC_USEC": "5"})
        told.send({"READY": "1"})
        manager.take_all()
        assert {"X": "1"} in manager.told
        assert manager.phases == []
        soon(loop, manager.take)
        manager.take_all()
        assert manager.told[-1] == {"STATUS": "two", "MONOTONIC_USEC": "5", "READY": "1"}
        told.ping()
        manager.take_all()
        assert manager.pings == 1


@pytest.mark.parametrize(
    ("address", "reason"),
    [("/nowhere/socket", "No such file or directory"), ("vsock:2:1", "neither an absolute path nor @NAME"),
     ("/" + "x" * 200, "too long"), ("@" + "x" * 200, "too long")],
)  # fmt: skip
def test_a_manager_that_cannot_be_reached_is_told_of_once(loop: Loop, address: str, reason: str):
    said: list[str] = []
    told = NotifySocket(loop, address, said.append)
    for _ in range(3):
        told.send({"READY": "1"})
        told.ping()
    assert len(said) == 1
    assert said[0].startswith("the service manager is not told of this host: NOTIFY_SOCKET=")
    assert reason in said[0]


def test_a_manager_that_goes_later_is_no_fault(tmp_path: Path, loop: Loop):
    with ServiceManager(tmp_path / "s") as manager:
        told = NotifySocket(loop, str(manager.path), pytest.fail)
        told.send({"READY": "1"})
    told.send({"STATUS": "x"})
    manager.path.unlink()
    told.send({"STATUS": "y"})
