"""A server with the Message Batches API, and a worker that starts quickly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent.batch.message_batches import provider_calls
from agent.batch.message_batches.lifecycle import POLL_VARIABLE
from tests.support.batch_place import BatchPlace
from tests.support.messages_server.server import MessagesServer
from tests.support.warm_batches_worker import relay

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.messages_server.message_batches import MessageBatches


@pytest.fixture(scope="session")
def warm_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with relay(tmp_path_factory.mktemp("w")) as program:
        yield program


@pytest.fixture
def server(warm_worker: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesServer]:
    monkeypatch.setattr(provider_calls, "WORKER", warm_worker)
    monkeypatch.setenv(POLL_VARIABLE, "0.05")
    with MessagesServer() as server:
        server.offer_batches()
        yield server


@pytest.fixture
def api(server: MessagesServer) -> MessageBatches:
    assert server.batches is not None
    return server.batches


@pytest.fixture
def place(tmp_path: Path) -> BatchPlace:
    (tmp_path / "project").mkdir()
    return BatchPlace(tmp_path)
