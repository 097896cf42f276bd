"""Runs extensions with the real SDK, in a version that the test names; and a project in a repository, its user's
folders, an SDK in `$ZOT_HOME` and a program in Node's place for tests that start nothing."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.support.copilot_folders import fake_sdk, put_on_path
from tests.support.copilot_host import CopilotHost, extension, sdk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def running(tmp_path):
    """`running("workbench", version="oldest")`: a host with this extension, in a folder of its own. With `text` the
    extension is this program."""
    with ExitStack() as stack:
        started = 0

        def run(name="", version="newest", *, text="", **options):
            nonlocal started
            started += 1
            folder = tmp_path / f"run-{started}"
            folder.mkdir()
            file = name if hasattr(name, "parent") else extension(name)
            if text:
                file = tmp_path / "extension.mjs"
                file.write_text(text)
            return stack.enter_context(CopilotHost(file, options.pop("sdk", None) or sdk(version), folder, **options))

        yield run


@pytest.fixture
def joined(running):
    """The same, once the extension has joined."""

    def run(*name, **options):
        host = running(*name, **options)
        host.joined()
        return host

    return run


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
    """The home of the Copilot CLI: not made yet."""
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "copilot"))
    return tmp_path / "copilot"


@pytest.fixture
def no_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that does nothing stands in for Node."""
    put_on_path(tmp_path / "bin", monkeypatch)
