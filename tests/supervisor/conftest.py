"""A host under test, and the proof that no descriptor is left open."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.host import Host
from tests.support.kept_boxes import Keeper, Kept

if TYPE_CHECKING:
    from collections.abc import Iterator

DESCRIPTORS = Path("/proc/self/fd")


def descriptors() -> dict[str, str]:
    found = {}
    for name in os.listdir(DESCRIPTORS) if DESCRIPTORS.exists() else ():
        try:
            found[name] = os.readlink(DESCRIPTORS / name)
        except OSError:
            continue  # the one that listed the folder
    return found


@pytest.fixture(autouse=True)
def no_descriptor_stays_open():
    before = descriptors()
    yield
    if len(descriptors()) > len(before):
        gc.collect()
        after = descriptors()
        left = [f"{fd} → {target}" for fd, target in after.items() if before.get(fd) != target]
        assert len(after) <= len(before), f"left open: {', '.join(left)}"


@pytest.fixture(autouse=True)
def no_more_descriptors(monkeypatch: pytest.MonkeyPatch):
    """The limit of the process that runs the tests stays as it is, since some tests lower it."""
    monkeypatch.setattr("supervisor.process.fd_limit.provide", lambda _workers: 0)


@pytest.fixture
def host(tmp_path: Path):
    with Host(tmp_path) as host:
        yield host


@pytest.fixture
def keep(host: Host, tmp_path: Path) -> Iterator[Keeper]:
    """Has the host keep black boxes, with the settings that are given."""
    made: list[Kept] = []

    def begin(**config: Any) -> Kept:
        made.append(Kept(host, tmp_path / "home", **config))
        return made[-1]

    yield begin
    for kept in made:
        kept.close()


@pytest.fixture
def healthy(host: Host):
    """A sound extension is there from the beginning, and works to the end."""
    host.add("echo", name="healthy")
    yield
    assert host.text("echo", text="still here") == "still here"
    assert host.said_of("healthy") == []
