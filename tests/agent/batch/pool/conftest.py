"""A pool of model workers for a test."""

from __future__ import annotations

import pytest

from supervisor.process.teardown import stop_all
from tests.support.pool_bench import Batch


@pytest.fixture
def batch(loop):
    batches = []

    def make(**given):
        batches.append(Batch(loop, **given))
        return batches[-1]

    yield make
    for one in batches:
        stop_all(loop, one.pool.stoppables(), at_once=True)
