"""Hosts to be asked, and a server of their metrics, all on one loop."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from supervisor.fleet.metrics_server import MetricsServer, listen
from supervisor.fleet.scraper import Scraper
from tests.support.control_peer import Serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def serving(folder: Path) -> Iterator[Serving]:
    with Serving(folder) as serving:
        yield serving


@pytest.fixture
def scraper(serving: Serving, folder: Path) -> Iterator[Scraper]:
    scraper = Scraper(serving.loop, [folder])
    yield scraper
    scraper.close()


@pytest.fixture
def address(serving: Serving, scraper: Scraper) -> Iterator[tuple[str, int]]:
    listener = listen("127.0.0.1", 0)
    server = MetricsServer(serving.loop, listener, scraper, "metrics.example")
    yield listener.getsockname()
    server.close()


@pytest.fixture
def silent(folder: Path) -> Iterator[socket.socket]:
    """The socket of a host that takes connections and never says a word."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "7.sock"))
        listener.listen()
        yield listener
