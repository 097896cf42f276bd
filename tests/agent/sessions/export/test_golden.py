"""The same session gives the same documents. `python -m tests.agent.sessions.export.test_golden` writes them anew."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.sessions.export.html import export_html
from agent.sessions.export.json import export_json
from agent.sessions.export.markdown import export_markdown
from agent.sessions.reading.history import History, read_history
from tests.support.session_files import write_session

FOLDER = Path(__file__).with_name("golden")


def without_style(page: str) -> str:
    """The style sheet is a file of its own."""
    return re.sub(r"<style>.*?</style>|sha256-[^']*", "…", page, flags=re.DOTALL)


DOCUMENTS = {
    "session.md": export_markdown,
    "session.html": lambda history: without_style(export_html(history)),
    "session.json": lambda history: export_json(history).decode(),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_is_as_it_was(name):
    assert DOCUMENTS[name](_history()) == (FOLDER / name).read_text(encoding="utf-8")


def _history() -> History:
    with tempfile.TemporaryDirectory() as made:
        found = read_history(write_session(Path(made), "/project"))
    return replace(found, info=replace(found.info, modified="2026-01-02T03:04:05.000+00:00"))


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    for name, made in DOCUMENTS.items():
        (FOLDER / name).write_text(made(_history()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
