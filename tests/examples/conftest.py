"""Starts the example extensions by their manifest, in their own folder: by hand, or under a supervisor."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.discovery.discover import Found, Scope, read_manifest
from tests.children.conversation import Conversation
from tests.support.host import PATIENCE, Host
from tests.vectors.record import EXAMPLES, lacks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from supervisor.calls.command_call import CommandAnswer

EXTENSIONS = EXAMPLES
NEVER_READY = {"clock": 3}
"""Examples that do not say `ready`, and how many frames they say before they wait."""
BUILT: dict[str, Path] = {}
"""Copies of those in Go, with their programs."""


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of an example, ready to run. Skips the test if the program that runs or builds it is missing."""

    def find(name: str) -> Path:
        folder = EXTENSIONS / name
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


# --- by hand ------------------------------------------------------------------------------------------------


@contextmanager
def starting(folder_of: Callable[[str], Path]) -> Iterator[Callable[[str], Conversation]]:
    with ExitStack() as running:

        def start_example(name: str) -> Conversation:
            folder = folder_of(name)
            manifest = read_manifest(folder)
            program = folder / manifest.exec if manifest.exec.startswith("./") else manifest.exec
            return running.enter_context(Conversation(program, *manifest.args or (), cwd=folder))

        yield start_example


def greeting(extension: Conversation, name: str) -> list[dict[str, Any]]:
    """All that it says before it waits."""
    if name in NEVER_READY:
        return [extension.frame() for _ in range(NEVER_READY[name])]
    return extension.frames_up_to("ready")


def greeted(extension: Conversation, name: str, cwd: Path) -> Conversation:
    """Completes the handshake."""
    greeting(extension, name)
    extension.send("hello_ack", protocol_version=1, zot_version="1.0.0", provider="replay", model="none", cwd=str(cwd))
    return extension


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
    """As `greet`, for fixtures of one process for all tests of a module: their questions each stand alone."""
    with starting(folder_of) as start_example:
        cwd = tmp_path_factory.mktemp("project")
        yield lambda name: greeted(start_example(name), name, cwd)


# --- under a supervisor -------------------------------------------------------------------------------------


class Supervised(Host):
    """One example under the real supervisor, with a data folder that outlives it."""

    def __init__(self, folder: Path, example: Path) -> None:
        super().__init__(folder)
        self.found = [Found(example, read_manifest(example), Scope.EXPLICIT)]
        self.name = self.found[0].manifest.name

    @property
    def data(self) -> Path:
        return self.folder / "data" / self.name

    def launch(self) -> None:
        self.supervisor.start(self.found, dict(os.environ), self.folder / "data")

    def command(self, name: str, args: str = "") -> Any:
        """What the command answers: its frame. One that fails is an error of the test."""
        answers: list[CommandAnswer] = []
        self.supervisor.begin_command(name, args, answers.append)
        assert self.loop.run_until(lambda: bool(answers), self.loop.clock() + PATIENCE)
        assert answers[0].frame is not None, answers[0]
        return answers[0].frame

    def finish(self) -> None:
        """Stops it, and fails the test if it did not end in order or if anything was to be said against it."""
        self.stop()
        assert self.cost(self.name).exit_status == "exit 0"
        assert self.cost(self.name).junk_lines == 0
        assert self.said_of(self.name) == []


@pytest.fixture
def supervise(folder_of: Callable[[str], Path], tmp_path: Path) -> Iterator[Callable[[str], Supervised]]:
    """Starts an example by name; a second time, with the same data folder as before."""
    with ExitStack() as running:

        def start_example(name: str) -> Supervised:
            host = running.enter_context(Supervised(tmp_path, folder_of(name)))
            host.start()
            return host

        yield start_example
