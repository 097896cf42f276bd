"""Processes that must not be touched, and the collection of those that are left to the test."""

from __future__ import annotations

import os
import secrets
import subprocess
from typing import TYPE_CHECKING

import pytest

from supervisor.cleanup.env_marks import TOKEN
from tests.support.killed_host import collect_orphans

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def orphans_are_collected() -> Iterator[None]:
    yield
    collect_orphans()


@pytest.fixture
def bystanders() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that belong to no host, though they look alike."""
    environments = [{}, {TOKEN: secrets.token_hex(16)}, {"X": f"{TOKEN}={'a' * 32}"}]
    started = [
        subprocess.Popen(["sleep", "600"], env={**os.environ, **env}, start_new_session=True) for env in environments
    ]
    yield started
    alive = [process.poll() is None for process in started]
    for process in started:
        process.kill()
        process.wait()
    assert all(alive), "a bystander was ended"
