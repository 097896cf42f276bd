"""The screen in a real terminal, with a scripted server as the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.screen.screen import Screen
from tests.support.zot_fixtures import server, zot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Zot

__all__ = ["server", "zot"]


@pytest.fixture
def screen(zot: Zot, server: MessagesServer) -> Iterator[Screen]:
    """A terminal of 80 columns, in which the screen is not open yet."""
    with Screen.of(zot, server) as screen:
        yield screen
