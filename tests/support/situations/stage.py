"""Where a situation happens: a home, a project, a scripted model; and the table of all situations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.support.extension_folder import extension
from tests.support.replay_script import Script

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Outcome, Zot


@dataclass(frozen=True)
class Stage:
    zot: Zot
    server: MessagesServer

    def answered(self, *args: str | Path) -> Outcome:
        """A run with -p on a recorded answer."""
        return self.zot.run(*self.replay(), *args, "go")

    def replay(self) -> tuple[str | Path, ...]:
        """The flags of such a run."""
        return "-p", "--replay", Script(self.zot.cwd).answer("Done.").write(self.zot.folder / "cassette.jsonl")

    def asked(self, *args: str | Path) -> Outcome:
        """A run with -p on the scripted server."""
        return self.zot.run("-p", "--base-url", self.server.base_url, "--api-key", "k", *args, "go")

    def extension(self, child: str, *args: str | Path, name: str | None = None, **manifest: object) -> Path:
        return extension(self.zot.folder, child, *args, name=name, **manifest)

    def file(self, path: str, text: str) -> Path:
        """Writes a file of the project."""
        file = self.zot.cwd / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file


SITUATIONS: dict[str, Callable[[Stage], str]] = {}


def situation(message: str) -> Callable[[Callable[[Stage], str]], Callable[[Stage], str]]:
    """Registers a function as the one that provokes this message."""

    def register(provoke: Callable[[Stage], str]) -> Callable[[Stage], str]:
        assert message not in SITUATIONS, message
        SITUATIONS[message] = provoke
        return provoke

    return register


def situations(provoke: Callable[[Stage, Any], str], of_messages: dict[str, Any]) -> None:
    """Registers `provoke` for each message, with what it needs for this one."""
    for message, needed in of_messages.items():
        situation(message)(partial(provoke, needed=needed))
