"""Fixtures for tests that run the product: `zot` as a process, and a scripted server for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.messages_server import MessagesServer
from tests.support.zot_process import Zot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def zot(tmp_path: Path) -> Zot:
    return Zot(tmp_path)


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as server:
        yield server
