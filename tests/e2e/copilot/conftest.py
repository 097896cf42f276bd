"""A project with Copilot extensions, in which `zot` runs as a process against a scripted server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.copilot_host import VERSIONS
from tests.support.copilot_place import CopilotPlace

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Zot


@pytest.fixture
def place(zot: Zot, server: MessagesServer) -> CopilotPlace:
    """With the newest SDK."""
    return CopilotPlace(zot, server)


@pytest.fixture(params=VERSIONS)
def each_sdk(request: pytest.FixtureRequest, zot: Zot, server: MessagesServer) -> CopilotPlace:
    """Once with the oldest and once with the newest SDK."""
    return CopilotPlace(zot, server, request.param)
