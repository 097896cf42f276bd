"""Runtimes whose model answers from a cassette."""

from __future__ import annotations

import pytest

from pyzot import AsyncRuntime, Runtime
from tests.support.replay_script import Script


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def options(tmp_path, project):
    """Of an engine whose model answers `Done.` to the prompt `go`."""
    cassette = Script(project).answer("Done.").write(tmp_path / "cassette.jsonl")
    return {"replay": cassette, "cwd": project, "env": {"ZOT_HOME": str(tmp_path / "home")}}


@pytest.fixture
def start(options):
    """Starts a runtime. All are closed after the test."""
    made = []

    def begin(**more):
        made.append(Runtime(**{**options, **more}))
        return made[-1]

    yield begin
    for runtime in made:
        runtime.close()


@pytest.fixture
def start_async(options):
    """Makes an `AsyncRuntime`; the test closes it."""
    return lambda **more: AsyncRuntime(**{**options, **more})
