"""A node program, and a driver for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervisor.process.teardown import stop_all
from tests.support.node_driver import NodeDriver
from tests.support.zot_fixtures import server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from supervisor.loop.loop import Loop

__all__ = ["server"]


@pytest.fixture
def make_driver(loop: Loop, tmp_path: Path) -> Iterator[Callable[..., NodeDriver]]:
    made: list[NodeDriver] = []
    for name in ("home", "project", "tmp"):
        (tmp_path / name).mkdir(exist_ok=True)

    def make(**given: Any) -> NodeDriver:
        env = {"TMPDIR": str(tmp_path / "tmp"), **given.pop("env", {})}
        made.append(NodeDriver(loop, tmp_path / "home", tmp_path / "project", env=env, **given))
        return made[-1]

    with loop.signals((), lambda _number: None):
        yield make
        for driver in made:
            stop_all(loop, driver.carrier.stoppables(), at_once=True)


@pytest.fixture
def driver(make_driver: Callable[..., NodeDriver]) -> NodeDriver:
    return make_driver()
