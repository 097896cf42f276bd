"""The terminal itself: its size, suspension, and its modes after each end."""

from __future__ import annotations

import os
import signal

from tests.screen.screen import READY
from tests.support.messages_server import Hold, events_reply, message_events, text_block
from tests.support.zot_process import wait_until

WORDS = [f"word{number}" for number in range(300)]


def test_a_resize_in_mid_stream_loses_no_text_and_no_input(screen):
    terminal = screen.terminal
    text = "\n\n".join(" ".join(WORDS[at : at + 25]) for at in range(0, len(WORDS), 25))
    reply = events_reply(message_events([text_block(text, chunks=40)]))
    steps = list(reply.steps)
    for at in (12, 22, 32):
        steps.insert(at, Hold())
    screen.answers["stream"] = type(reply)(tuple(steps))
    screen.open()
    terminal.command("please stream")
    for columns, rows in ((40, 20), (120, 40), (80, 24)):
        screen.server.wait_until_held()
        terminal.type("漢x")
        terminal.resize(columns, rows)
        terminal.wait_for(r"^> (漢x)+\nworking")
        screen.server.release()
    terminal.wait_for(rf"(?s){WORDS[-1]}.*^> 漢x漢x漢x\n{READY[1:]}")
    shown = terminal.screen("-J", "-S", "-").split()
    assert set(WORDS) <= set(shown)


def test_stop_and_go_on_and_the_modes_of_the_terminal(screen):
    terminal = screen.terminal
    before = terminal.modes()
    screen.open()
    terminal.type("a draft")
    terminal.wait_for(r"^> a draft\n")
    terminal.keys("C-z")
    terminal.wait_for(r"Stopped")
    assert terminal.modes() == before
    terminal.command("fg")
    terminal.wait_for(r"^> a draft\nready")
    terminal.type(" goes on")
    terminal.wait_for(r"^> a draft goes on\n")
    terminal.keys("C-c", "C-c")
    terminal.wait_for(r"^ready>$")
    assert terminal.modes() == before

    terminal.command(f"{terminal.zot} --no-session & echo $! > pid; fg; echo status $?")
    terminal.wait_for(READY)
    os.kill(int(wait_until((screen.zot.cwd / "pid").read_text)), signal.SIGTERM)
    terminal.wait_for(r"^status 143$")
    assert terminal.modes() == before
