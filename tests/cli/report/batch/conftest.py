"""A folder of a batch to be written and read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.batch_written import WrittenBatch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.loop.loop import Loop


@pytest.fixture
def batch(tmp_path: Path, loop: Loop) -> Callable[..., WrittenBatch]:
    """Makes the folder of a batch with these tasks."""

    def make(*ids: str, **given: object) -> WrittenBatch:
        return WrittenBatch(tmp_path / "runs", loop, *ids, **given)

    return make
