"""An extension of a project, and a store of what is trusted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from supervisor.discovery.trust_store import TrustStore

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An extension of a project."""
    made = tmp_path / "project" / ".zot" / "extensions" / "guard"
    (made / "lib").mkdir(parents=True)
    (made / "extension.json").write_text('{"name": "guard", "exec": "./run.sh"}')
    (made / "run.sh").write_text("#!/bin/sh\n")
    (made / "run.sh").chmod(0o755)
    (made / "lib" / "rules").write_text("1")
    (made / "link").symlink_to("lib/rules")
    return made


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "home", now=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
