"""Sessions of the folder in which the commands run."""

from __future__ import annotations

import os
from importlib import import_module

import pytest

from cli.sessions import SessionGroup
from tests.support.session_files import ID, short_session, write_session

for module in (
    *(name for _title, names in SessionGroup.modules for name in names),
    "cli.sessions.conversation",
    "agent.sessions.export.html",
    "markdown_it",
    "rich.cells",
):
    import_module(module)  # once, and not in each fork

OTHER = "90b1ffff-0000-4000-8000-000000000000"
ELSEWHERE = "77777777-0000-4000-8000-000000000000"


@pytest.fixture
def sessions(zot):
    """One with everything, a short one that is older, and one of another folder."""
    path = write_session(zot.home, str(zot.cwd))
    other = short_session(zot.home, str(zot.cwd), "add a\nbutton", OTHER)
    elsewhere = short_session(zot.home, "/elsewhere", "far away", ELSEWHERE)
    os.utime(other, (1_700_000_000, 1_700_000_000))
    os.utime(elsewhere, (1_600_000_000, 1_600_000_000))
    return {"path": path, "id": ID, "other": other, "elsewhere": elsewhere}
