"""Fixtures that start an example by its name."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.support.example_extensions import Supervised, greeted, starting
from tests.support.extension_folder import EXAMPLES
from tests.vectors.record import lacks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.conversation import Conversation


BUILT: dict[str, Path] = {}
"""Copies of the Go examples with their programs, by name."""


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of an example, ready to run. Skips the test if the program that runs or builds it is missing."""

    def find(name: str) -> Path:
        folder = EXAMPLES / name
        if (folder / "go.mod").exists():
            if shutil.which("go") is None:
                pytest.skip(f"no go here, which builds {name}")
            if name not in BUILT:
                copy = tmp_path_factory.mktemp("go") / name
                shutil.copytree(folder, copy)
                subprocess.run(["go", "build"], cwd=copy, check=True)
                BUILT[name] = copy
            return BUILT[name]
        if missing := lacks(folder):
            pytest.skip(f"{missing} here, which runs {name}")
        return folder

    return find


@pytest.fixture
def start(folder_of: Callable[[str], Path]) -> Iterator[Callable[[str], Conversation]]:
    """Starts an example by name."""
    with starting(folder_of) as start_example:
        yield start_example


@pytest.fixture
def greet(start: Callable[[str], Conversation], tmp_path: Path) -> Callable[[str], Conversation]:
    """Starts an example and completes the handshake; the project's directory is `tmp_path`."""
    return lambda name: greeted(start(name), name, tmp_path)


@pytest.fixture(scope="module")
def shared(
    folder_of: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Conversation]]:
    """As `greet`, for one process for all tests of a module, whose questions are independent."""
    with starting(folder_of) as start_example:
        cwd = tmp_path_factory.mktemp("project")
        yield lambda name: greeted(start_example(name), name, cwd)


@pytest.fixture
def supervise(folder_of: Callable[[str], Path], tmp_path: Path) -> Iterator[Callable[[str], Supervised]]:
    """Starts an example by name; a second time, with the same data folder as before."""
    with ExitStack() as running:

        def start_example(name: str) -> Supervised:
            host = running.enter_context(Supervised(tmp_path, folder_of(name)))
            host.start()
            return host

        yield start_example
