"""A whole batch in a real terminal (tmux): its view while a server refuses, the keys, and the lines that stay."""

from __future__ import annotations

import json
import re
import threading
from typing import TYPE_CHECKING

import pytest

from supervisor.template.protocol import is_available
from tests.support.messages_server import http_error, text_reply
from tests.support.terminal import Terminal, open_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.messages_server import MessagesServer, Received, Reply
    from tests.support.zot_process import Zot

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no templates")


@pytest.fixture
def terminal(zot: Zot) -> Iterator[Terminal]:
    with open_terminal(zot) as terminal:
        yield terminal


@pytest.mark.slow
def test_a_person_sees_why_nothing_moves_and_what_has_failed(
    zot: Zot, server: MessagesServer, terminal: Terminal
) -> None:
    is_open = threading.Event()

    def answer(request: Received) -> Reply:
        if not is_open.is_set():
            return http_error(429, retry_after=1)
        if "wrong" in json.dumps(request.body["messages"]):
            return http_error(400, "this prompt is not liked at all " * 8)
        return text_reply("answer")

    server.otherwise = answer
    lines = [json.dumps({"id": f"t{number}", "prompt": "wrong" if number == 2 else "right"}) for number in range(5)]
    (zot.cwd / "t.jsonl").write_text("\n".join(lines))
    connection = f"--base-url {server.base_url} --api-key k --model claude-sonnet-4-5 --no-ext"
    terminal.command(f"clear; {terminal.zot} batch t.jsonl -o runs -j 2 {connection}; echo status $?")
    shown = terminal.wait_for(r"^waiting: rate limit: the server asks for a pause; next at \d\d:\d\d:\d\d$")
    shown = terminal.wait_for(r"^0 ok  0 running  2 paused  3 waiting$")
    assert "refused (429)" in shown
    assert max(map(len, shown.splitlines())) <= 80
    terminal.resize(40, 24)
    narrow = terminal.wait_for(r"the server asks f…$")
    assert [line.split()[:2] for line in narrow.splitlines() if " paused " in line][-2:] == [
        ["t0", "paused"], ["t1", "paused"],
    ]  # fmt: skip
    terminal.keys("p")
    terminal.wait_for(r"^paused: p resumes$")
    is_open.set()
    terminal.resize(100, 30)
    terminal.keys("p")
    shown = terminal.wait_for(r"^status 10$")
    (failed,) = [line for line in shown.splitlines() if line.startswith("[")]
    assert re.match(r"\[[1-5]/5\] error         t2 ", failed)
    assert failed.endswith("…")
    assert len(failed) <= 100
    assert "4 of 5 tasks ok in " in shown
    assert "zot batch logs runs t2" in shown
    assert sum(len(line) > 100 for line in shown.splitlines()) == 0
    assert zot.run("batch", "logs", "runs", "t0").text.count("answer") >= 1
