"""Runs extensions with the real SDK, in a version that the test names."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.support.copilot_host import CopilotHost, extension, sdk


@pytest.fixture
def running(tmp_path):
    """`running("workbench", version="oldest")`: a host with this extension, in a folder of its own."""
    with ExitStack() as stack:
        started = 0

        def run(name, version="newest", **options):
            nonlocal started
            started += 1
            folder = tmp_path / f"run-{started}"
            folder.mkdir()
            file = name if hasattr(name, "parent") else extension(name)
            return stack.enter_context(CopilotHost(file, options.pop("sdk", None) or sdk(version), folder, **options))

        yield run
