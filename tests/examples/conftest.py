"""Starts the example extensions as a host does: by their manifest, in their own folder."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.children.conversation import Conversation
from wire.manifest import parse_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EXTENSIONS = Path(__file__).parents[2] / "examples" / "extensions"


@pytest.fixture
def start() -> Iterator[Callable[[str], Conversation]]:
    """Starts an example by name. Skips the test if the program that runs it is missing."""
    with ExitStack() as running:

        def start_example(name: str) -> Conversation:
            folder = EXTENSIONS / name
            manifest = parse_manifest((folder / "extension.json").read_bytes())
            program = folder / manifest.exec if manifest.exec.startswith("./") else shutil.which(manifest.exec)
            if program is None:
                pytest.skip(f"no {manifest.exec} here, which runs {name}")
            return running.enter_context(Conversation(program, *manifest.args or (), cwd=folder))

        yield start_example


@pytest.fixture
def greet(start: Callable[[str], Conversation], tmp_path: Path) -> Callable[[str], Conversation]:
    """Starts an example and completes the handshake; the project's directory is `tmp_path`."""

    def greet_example(name: str) -> Conversation:
        extension = start(name)
        extension.frames_up_to("ready")
        extension.send(
            "hello_ack", protocol_version=1, zot_version="1.0.0", provider="replay", model="none", cwd=str(tmp_path)
        )
        return extension

    return greet_example
