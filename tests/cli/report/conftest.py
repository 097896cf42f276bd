"""A browser for each test module, and the name of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.browser import browser

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["browser"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.stats"
