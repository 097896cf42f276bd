"""A loop of its own for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.loop.loop import Loop

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()
