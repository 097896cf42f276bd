"""Fixtures for tests that run the product: `zot` as a process, and a scripted server for it."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.messages_server import MessagesServer
from tests.support.rpc_client import RpcClient
from tests.support.zot_process import Zot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.support.zot_process import Running


@pytest.fixture
def zot(tmp_path: Path) -> Zot:
    return Zot(tmp_path)


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    with MessagesServer() as server:
        yield server


@pytest.fixture
def rpc(zot: Zot, server: MessagesServer) -> Callable[..., AbstractContextManager[Running]]:
    """Starts `zot rpc`, whose model is the scripted server unless the flags have a cassette; `client` talks to it."""

    @contextmanager
    def start(*flags: str | Path, **popen: Any) -> Iterator[Running]:
        model = () if "--replay" in flags else ("--base-url", server.base_url, "--api-key", "k")
        popen = {"stdin": subprocess.PIPE, **popen}
        with zot.start("rpc", *model, *flags, **popen) as running:
            if popen["stdin"] == subprocess.PIPE and running.process.stdout is not None:
                running.client = RpcClient.of(running)  # type: ignore[attr-defined]
            yield running

    return start
