"""The user of a screen: a terminal in which `zot` runs, a scripted model, and extensions that show everything."""

from __future__ import annotations

import json
import re
import shlex
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.extension_folder import folder
from tests.support.marked_processes import marked_pids
from tests.support.messages_server import text_reply
from tests.support.terminal import LOOK_S, open_terminal
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.messages_server import MessagesServer, Received, Reply
    from tests.support.terminal import Terminal
    from tests.support.zot_process import Zot

KIT = Path(__file__).with_name("kit.py")
MODEL = "claude-haiku-4-5"
READY = r"^ready · \S"


class Screen:
    """A terminal and all that stands around it. The model answers a prompt with `re: ` and its last line, unless
    `answers` has a reply for the prompt's last word."""

    def __init__(self, zot: Zot, server: MessagesServer, terminal: Terminal) -> None:
        self.zot = zot
        self.server = server
        self.terminal = terminal
        self.answers: dict[str, Reply] = {}
        server.otherwise = self._answer
        self._heard = zot.folder / "heard"

    @classmethod
    @contextmanager
    def of(cls, zot: Zot, server: MessagesServer, width: int = 80, height: int = 24) -> Iterator[Screen]:
        try:
            with open_terminal(zot, width, height) as terminal:
                yield cls(zot, server, terminal)
        finally:  # the terminal has gone, and the screen ends all that it has started
            wait_until(lambda: not marked_pids("ZOT_HOME", str(zot.home)))

    def _answer(self, request: Received) -> Reply:
        word = last_text(request).split()[-1]
        return self.answers.get(word) or text_reply(f"re: {last_text(request).splitlines()[-1]}")

    def kit(self, name: str = "kit", **manifest: Any) -> Path:
        """The folder of an extension that shows everything."""
        argv = [sys.executable, "-I", "-S", str(KIT), name, str(self._heard)]
        return folder(self.zot.folder, name, argv, **{"timeouts": {"intercept": 0.2}, **manifest})

    def heard(self) -> list[tuple[str, ...]]:
        """The panel frames that extensions got, each as its type, panel and values."""
        lines = self._heard.read_text("utf-8").splitlines() if self._heard.exists() else []
        return [tuple(map(str, json.loads(line).values())) for line in lines]

    def wait_until_heard(self, *frame: str) -> None:
        wait_until(lambda: frame in self.heard())

    # --- the user ---------------------------------------------------------------------------------------------

    def open(self, *flags: str | Path, before: str = "", has_key: bool = True, ready: str = READY) -> str:
        """Opens the screen on a cleared terminal, and waits for it."""
        key = ("--api-key", "k") if has_key else ()
        words = shlex.join(["--base-url", self.server.base_url, *key, "-m", MODEL, *map(str, flags)])
        self.terminal.command(f"clear; {before} {self.terminal.zot} {words}; echo status $?")
        return self.terminal.wait_for(ready)

    def enter(self, text: str, then: str) -> str:
        """Enters a line, and waits for a screen that matches."""
        self.terminal.type(text)
        self.terminal.keys("Enter")
        return self.terminal.wait_for(then)

    def prompt(self, text: str) -> str:
        """Enters a prompt and waits for its end."""
        before = self._ends()
        self.terminal.command(text)
        wait_until(lambda: self._ends() > before, pause_s=LOOK_S)
        return self.terminal.wait_for(READY)

    def _ends(self) -> int:
        """The number of prompts that have ended, as the scrollback shows."""
        return len(re.findall(r"^─ .*\d turns?\b", self.terminal.screen("-S", "-"), re.MULTILINE))

    def clear(self) -> None:
        """Removes the visible lines."""
        self.terminal.keys("C-l")
        self.terminal.wait_for(r"\A\S*> ?\S*\n")

    def feed(self, lines: bytes) -> Any:
        """The outcome of plain lines that read these from a file, with the kit."""
        flags = ("--base-url", self.server.base_url, "--api-key", "k", "-m", MODEL, "--ext", self.kit())
        given = self.zot.folder / "input"
        given.write_bytes(lines)
        with given.open("rb") as stdin:
            return self.zot.run("--plain", *flags, stdin=stdin)

    def leave(self) -> str:
        """Leaves an empty input, and waits for the shell."""
        self.terminal.keys("C-d")
        return self.terminal.wait_for(r"^status \d+$")


def last_text(request: Received) -> str:
    """The text of the last message, `results` if it has results of tools."""
    content = request.body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    if any(block["type"] == "tool_result" for block in content):
        return "results"
    return "\n".join(block["text"] for block in content if block["type"] == "text")


def texts(request: Received) -> list[str]:
    """The texts of all messages, in order."""
    found = []
    for message in request.body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [block["text"] for block in blocks if block["type"] == "text"]
    return found
