"""`zot` as a process, without cgroups."""

from __future__ import annotations

import pytest

from tests.support.zot_fixtures import zot

__all__ = ["zot"]


@pytest.fixture(autouse=True)
def no_cgroups(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests look at the host's own limits; with cgroups the kernel often acts first."""
    monkeypatch.setenv("ZOT_NO_CGROUP", "1")
