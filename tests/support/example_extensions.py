"""Example extensions by their manifest, in their own folder: by hand, or under a supervisor."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from supervisor.discovery.discover import read_manifest
from supervisor.discovery.found_extension import FoundExtension, Scope
from tests.support.conversation import Conversation
from tests.support.host import Host
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from supervisor.calls.command_call import CommandAnswer

NEVER_READY = {"clock": 3}
"""Examples that do not say `ready`, and how many frames they say before they wait."""


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
    """All frames that it sends before it waits."""
    if name in NEVER_READY:
        return [extension.frame() for _ in range(NEVER_READY[name])]
    return extension.frames_up_to("ready")


def greeted(extension: Conversation, name: str, cwd: Path) -> Conversation:
    """Completes the handshake."""
    greeting(extension, name)
    extension.send("hello_ack", protocol_version=1, zot_version="1.0.0", provider="replay", model="none", cwd=str(cwd))
    return extension


class Supervised(Host):
    """One example under the real supervisor, with a data folder that outlives it."""

    def __init__(self, folder: Path, example: Path) -> None:
        super().__init__(folder)
        self.found = [FoundExtension(example, read_manifest(example), Scope.EXPLICIT)]
        self.name = self.found[0].manifest.name

    @property
    def data(self) -> Path:
        return self.folder / "data" / self.name

    def launch(self) -> None:
        self.supervisor.start(self.found, dict(os.environ), self.folder / "data")

    def command(self, name: str, args: str = "") -> Any:
        """The frame that the command answers; a command that fails fails the test."""
        answers: list[CommandAnswer] = []
        self.begin_command(name, args, answers.append)
        assert self.loop.run_until(lambda: bool(answers), self.loop.clock() + PATIENCE_S)
        assert answers[0].frame is not None, answers[0]
        return answers[0].frame

    def finish(self) -> None:
        """Stops it; fails the test if it did not end in order or got a notice."""
        self.stop()
        assert self.cost(self.name).exit_status == "exit 0"
        assert self.cost(self.name).junk_lines == 0
        assert self.said_of(self.name) == []
