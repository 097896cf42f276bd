"""The product as a process, everywhere with the same means."""

from __future__ import annotations

import pytest

from tests.support.zot_fixtures import zot

__all__ = ["zot"]


@pytest.fixture(autouse=True)
def no_cgroups(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the host itself sees and says is looked at here. Where there are cgroups the kernel is often quicker."""
    monkeypatch.setenv("ZOT_NO_CGROUP", "1")
