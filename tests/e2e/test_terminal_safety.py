"""Text of extensions and models cannot control a terminal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.faulty_run import program
from tests.support.replay_script import Script

if TYPE_CHECKING:
    from tests.support.zot_process import Zot

HARM = "a\x1b[2J\x1b]52;c;ZWNobw==\x07b\x9b1;1H\u202ec\td\ne"
HARMLESS = "abc\td\ne"
SAYS = f"""
hello()
send(type="register_command", name="say")
send(type="ready")
for frame in frames():
    send(type="command_response", id=frame["id"], action="display", display={HARM!r})
"""


@pytest.fixture
def flags(zot: Zot) -> list[str]:
    cassette = Script(zot.cwd).answer(HARM).write(zot.folder / "cassette")
    says = program(zot.folder, "says", SAYS)
    return ["-p", "--no-ext", "-e", str(says), "--replay", str(cassette)]


@pytest.mark.parametrize("prompt", ["/say", "go"])
def test_on_a_terminal_only_text_is_left_and_a_pipe_gets_all(zot: Zot, flags: list[str], prompt: str):
    assert zot.run(*flags, prompt).stdout == HARM.encode() + b"\n"
    controlling, terminal = os.openpty()
    try:
        outcome = zot.run(*flags, prompt, stdout=terminal)
        shown = os.read(controlling, 4096)
    finally:
        os.close(controlling)
        os.close(terminal)
    assert outcome.status == 0
    assert shown.decode().replace("\r\n", "\n") == HARMLESS + "\n"
