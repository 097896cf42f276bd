"""The product as a process, everywhere with the same means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.zot_process import Zot

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def no_cgroups(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the host itself sees and says is looked at here. Where there are cgroups the kernel is often quicker."""
    monkeypatch.setenv("ZOT_NO_CGROUP", "1")


@pytest.fixture
def zot(tmp_path: Path) -> Zot:
    return Zot(tmp_path)
