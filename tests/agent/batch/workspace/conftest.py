"""A project, and the folder of a batch."""

from __future__ import annotations

import pytest


@pytest.fixture
def project(tmp_path):
    project = tmp_path / "project"
    (project / "src" / "empty").mkdir(parents=True)
    (project / "src" / "main.py").write_text("print(1)\n" * 40)
    (project / "run.sh").write_text("#!/bin/sh\n")
    (project / "run.sh").chmod(0o755)
    (project / "data.bin").write_bytes(b"\0\1" * 1000)
    (project / "link").symlink_to("src/main.py")
    (project / ".hidden").write_text("h")
    return project


@pytest.fixture
def rundir(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder
