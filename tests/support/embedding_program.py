"""Runs Python programs that embed the agent as their users do, in a project of their own; a scripted server is the
model."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from supervisor.discovery.environment import is_secret
from supervisor.home.config import Config
from tests.support.messages_server import MessagesServer
from tests.support.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.messages_server import Reply

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "embedding"
PHOTO = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")
FILES = {"prices.py": b"VAT = {'book': 7}\n", "notes.md": b"Prices of the shop, in cents.\n", "photo.png": PHOTO}


class Project:
    """A folder with the program's files, a home for zot, and the environment of a user with a key."""

    def __init__(self, folder: Path, server: MessagesServer) -> None:
        self.server = server
        self.folder = folder / "project"
        self.folder.mkdir()
        for name, data in FILES.items():
            (self.folder / name).write_bytes(data)
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ANTHROPIC_", "ZOT")) and not is_secret(name, Config(), value)
        }
        self.env = {
            **inherited,
            "ZOT_HOME": str(folder / "home"),
            "PYTHONPATH": str(ROOT),
            "ANTHROPIC_API_KEY": "a key",
            "ANTHROPIC_BASE_URL": server.base_url,
        }
        self.env.pop("XDG_RUNTIME_DIR", None)

    def run(
        self, program: str | Path, *args: str, status: int = 0, stdin: str | IO[bytes] = "", warning: str = ""
    ) -> str:
        """The standard output of a program, a path or the text of one, which must end with this status. On its standard
        error it says nothing, or one line with this warning."""
        given = [str(program)] if isinstance(program, Path) else ["-c", program]
        with subprocess.Popen(
            [sys.executable, "-W", "error", "-X", "utf8", *given, *args],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.PIPE if isinstance(stdin, str) else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as started:
            try:
                said, errors = started.communicate(stdin if isinstance(stdin, str) else None, timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                started.terminate()
                raise
        assert (started.returncode, len(errors.splitlines())) == (status, int(bool(warning))), f"{errors}\n{said}"
        assert warning in errors
        return said

    def asked(self) -> list[str]:
        """The last message to the model in each request."""
        return [last_text(request.body["messages"][-1]["content"]) for request in self.server.requests]


def last_text(content: object) -> str:
    """The last text of a message as the Messages API has it, that of a tool's result included."""
    if isinstance(content, str):
        return content
    assert isinstance(content, list)
    last = content[-1]
    return str(last["text"]) if last["type"] == "text" else last_text(last["content"])


@contextmanager
def project(folder: Path, *replies: Reply) -> Iterator[Project]:
    """A project whose model gives these replies, one after the other."""
    with MessagesServer(*replies) as server:
        yield Project(folder, server)
