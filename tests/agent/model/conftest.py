"""One server and one worker for all tests of a module that can share them: each start takes a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.messages_server import MessagesServer
from tests.support.model_worker_process import KEY, SeveralWorkers, WorkerProcess

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as server:
        yield server


@pytest.fixture(scope="module")
def shared(server: MessagesServer) -> Iterator[WorkerProcess]:
    with WorkerProcess(server.base_url, api_key=KEY) as worker:
        assert worker.read() == {"type": "ready", "whole_sdk": ""}
        yield worker


@pytest.fixture
def worker(shared: WorkerProcess, server: MessagesServer) -> Iterator[WorkerProcess]:
    yield shared
    assert server.unused == 0, "the worker did not ask for every reply of the script"


@pytest.fixture(scope="module")
def workers() -> Iterator[SeveralWorkers]:
    with SeveralWorkers() as several:
        yield several
