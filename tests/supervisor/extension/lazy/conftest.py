"""A place with lazy extensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.lazy_place import LazyPlace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> LazyPlace:
    return LazyPlace(tmp_path)
