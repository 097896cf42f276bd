"""A runtime with a real engine and a scripted model, whose program is an extension of it."""

from __future__ import annotations

import threading

import pytest

from tests.support.messages_server import MessagesServer
from tests.support.patience import PATIENCE_S
from zotext import Extension


def handler_threads():
    """Threads of handlers; the one of the loop of zotext stays."""
    names = {thread: thread.name for thread in threading.enumerate()}
    return {thread for thread, name in names.items() if name.startswith("zotext ") and name != "zotext asyncio"}


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = handler_threads()
    yield
    for thread in handler_threads() - before:
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), thread.name


@pytest.fixture
def model():
    with MessagesServer() as server:
        yield server


@pytest.fixture
def options(tmp_path, model):
    """The options of a runtime with this model, a project and a home of its own."""
    project = tmp_path / "project"
    project.mkdir()
    home = str(tmp_path / "home")
    return {"base_url": model.base_url, "api_key": "key", "cwd": project, "env": {"ZOT_HOME": home}}


@pytest.fixture
def guard():
    return Extension("guard")
