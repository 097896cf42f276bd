"""A folder of a batch to be written and read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from supervisor.loop.loop import Loop
from tests.support.batch_written import WrittenBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def batch(tmp_path: Path, loop: Loop) -> Callable[..., WrittenBatch]:
    """Makes the folder of a batch with these tasks."""

    def make(*ids: str, **given: object) -> WrittenBatch:
        return WrittenBatch(tmp_path / "runs", loop, *ids, **given)

    return make
