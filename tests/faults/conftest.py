"""`zot` as a process, without cgroups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.shared_stand import Stand
from tests.support.zot_fixtures import zot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.zot_process import Zot

__all__ = ["zot"]


@pytest.fixture(autouse=True)
def no_cgroups(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests look at the host's own limits; with cgroups the kernel often acts first."""
    monkeypatch.setenv("ZOT_NO_CGROUP", "1")


@pytest.fixture(params=["direct", "hosted"])
def stand(request: pytest.FixtureRequest, zot: Zot) -> Iterator[Stand]:
    """Extensions that are private to each run, or shared through a host."""
    with Stand(zot, is_hosted=request.param == "hosted") as made:
        yield made


@pytest.fixture
def shared(zot: Zot) -> Iterator[Stand]:
    """Extensions that runs share through a host."""
    with Stand(zot, is_hosted=True) as made:
        yield made
