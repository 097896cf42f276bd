"""A project in a repository, its user's folders, an SDK in `$ZOT_HOME`, and a `node` on PATH."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.copilot_folders import fake_sdk, put_on_path

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / ".git").mkdir(parents=True)
    return made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    fake_sdk(made / "copilot-sdk")
    return made


@pytest.fixture
def cli_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That of the Copilot CLI."""
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "copilot"))
    return tmp_path / "copilot"


@pytest.fixture(autouse=True)
def _node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_on_path(tmp_path / "bin", monkeypatch)
