"""Memory of one server and of its children over 1,000 prompts, with the real model worker, tools and an extension."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import psutil

from benchmarks.report import Report, Table
from benchmarks.rpc_peer import Peer, zot, zot_env
from benchmarks.workshop import CHILDREN
from tests.support.messages_server import MessagesServer, text_reply, tool_reply

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.claims import Claims
    from benchmarks.workshop import Workshop

PROMPTS, QUICK_PROMPTS = 1000, 20
CLEAR_EVERY = 10
ANSWER = "The project sums numbers, one per line, and prints their mean. " * 6
GROWTH_LIMIT = 4 << 20
"""Bytes, from a tenth of the prompts to the last."""
BASH, READ = ("bash", {"command": "echo hello"}), ("read", {"path": "numbers.txt"})


def memory(report: Report, workshop: Workshop, claims: Claims, server: MessagesServer, *, quick: bool) -> None:
    """Every tenth prompt calls bash, another tenth reads a file; an extension runs all the time."""
    count = QUICK_PROMPTS if quick else PROMPTS
    first, last = count // 10, count
    project = workshop.folder / "remembered"
    project.mkdir()
    (project / "numbers.txt").write_text("1\n2\n")
    extension = _extension(workshop.folder / "watcher")
    argv = [*zot(), "rpc", "--api-key", "k", "--base-url", server.base_url, "-e", str(extension)]
    samples: dict[int, dict[str, int]] = {}
    with Peer(argv, cwd=project, env=zot_env(workshop.folder)) as peer:
        for number in range(1, count + 1):
            _prompt(peer, server, number)
            if number % CLEAR_EVERY == 0:
                peer.ask("clear")
            if number % first == 0:
                report.progress(f"memory, {number} of {count} prompts")
                server.requests.clear()
                samples[number] = {"zot rpc": peer.rss(), **_children(peer)}
    table = Table(
        f"MiB resident, {CLEAR_EVERY} prompts to a conversation", ("after prompts", *map(str, samples), "grew")
    )
    for name in samples[last]:
        row = [samples[at].get(name) for at in samples]
        grew = None if row[0] is None else samples[last][name] - row[0]
        table.add(
            name, *[None if cell is None else cell / 2**20 for cell in row], None if grew is None else grew / 2**20
        )
        if grew is not None:
            claims.add(
                f"{name}: no more than 4 MiB more after {last} prompts than after {first}",
                f"{grew / 2**20:+.2f} MiB",
                grew <= GROWTH_LIMIT,
            )
    report.show(table)


def _prompt(peer: Peer, server: MessagesServer, number: int) -> None:
    kind = number % CLEAR_EVERY
    if kind in (3, 6):
        server.add(tool_reply([BASH if kind == 3 else READ]))
    server.add(text_reply(ANSWER))
    peer.prompt(f"prompt {number}")


def _extension(folder: Path) -> Path:
    """An extension in Python that is told of everything and answers nothing."""
    folder.mkdir()
    program = f'{{"name": "watcher", "exec": "{sys.executable}", "args": ["{CHILDREN / "echo.py"}", "watcher"]}}'
    (folder / "extension.json").write_text(program)
    return folder


def _children(peer: Peer) -> dict[str, int]:
    """Bytes of each kind of child."""
    found: dict[str, int] = {}
    for child in peer.view.children(recursive=True):
        try:
            name, size = _name(child), int(child.memory_info().rss)
        except psutil.Error:  # ended meanwhile
            continue
        found[name] = found.get(name, 0) + size
    return found


def _name(child: psutil.Process) -> str:
    """The program that the child runs."""
    words = [word.rpartition("/")[2] for word in child.cmdline() if word.endswith((".py", ".sh"))]
    return words[0] if words else child.name()
