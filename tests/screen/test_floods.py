"""Whatever floods the screen, typed text arrives complete and in order, Enter works, and `/exit` leaves nothing."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from tests.support.extension_folder import CHILDREN, RUNNERS, folder
from tests.support.messages_server import Hold, Reply, message_events, text_block, tool_reply
from tests.support.messages_server.replies import events_reply

if TYPE_CHECKING:
    from pathlib import Path

    from tests.screen.screen import Screen

TYPED = "typed while it floods, 0123456789 äöü"
SHOWN = r"(?m)^\[e0\] "


def flooders(screen: Screen, *kinds: str) -> list[str | Path]:
    """The flags for extensions that flood so, from their start on."""
    flags: list[str | Path] = []
    for number, kind in enumerate(kinds):
        argv = [*RUNNERS[".py"], str(CHILDREN / "flooder.py"), f"e{number}", kind, "begin"]
        flags += ["-e", folder(screen.zot.folder, f"e{number}", argv)]
    return flags


def type_enter_and_leave(screen: Screen, *, is_busy: bool = False) -> None:
    """Types a line, which is complete, and enters it; then leaves. A busy model has the line wait: other output could
    scroll away before it is looked at."""
    screen.terminal.type(TYPED)
    screen.terminal.wait_for(rf"^> {TYPED}$")
    if is_busy:
        screen.terminal.keys("Enter")
        screen.terminal.wait_for(rf"^waits: {TYPED}$")
    else:
        screen.terminal.keys("C-u")
        screen.enter("/no-such-command", r"^✗ no such command: /no-such-command")
    screen.enter("/exit", r"^status 0$")


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.parametrize("kinds", [("notes",), ("notes",) * 3, ("long_notes",)], ids=["one", "three", "long"])
def test_notes(screen, kinds):
    screen.open(*flooders(screen, *kinds), ready=SHOWN)
    type_enter_and_leave(screen)


def test_lines_of_15_mib(screen):
    screen.open(*flooders(screen, "long_lines"), ready=r"is over the limit of")
    type_enter_and_leave(screen)


def test_a_panel_that_is_drawn_again_without_end(screen):
    screen.open(*flooders(screen, "redraws"), ready=r"│ (no )?key ")
    for key in "abc":
        screen.terminal.type(key)
        screen.terminal.wait_for(rf"│ key {key} ")
    screen.terminal.keys("Escape")
    screen.terminal.wait_for(r"^> ?\nready")
    type_enter_and_leave(screen)


def test_a_command_without_an_answer(screen):
    screen.open(*flooders(screen, "quiet"))
    screen.enter("/e0-hang", r"^… /e0-hang [1-9]")
    type_enter_and_leave(screen)


def test_a_command_that_answers_with_4_mib(screen):
    screen.open(*flooders(screen, "long_displays"))
    screen.terminal.type("/e0")
    screen.terminal.keys("Enter")
    type_enter_and_leave(screen)


def test_a_program_that_prints_without_end(screen):
    screen.open()
    screen.enter("!yes without end", r"^  without end$")
    type_enter_and_leave(screen)


def test_results_of_6_mib_one_after_another(screen):
    screen.answers["flood"] = screen.answers["results"] = tool_reply([("e0_tool", {})])
    screen.open(*flooders(screen, "quiet"))
    screen.enter("flood", r"^  result result ")
    type_enter_and_leave(screen, is_busy=True)


def test_a_long_text_of_the_model(screen):
    """It is written at once, and stops before its end."""
    text = "A line with *words* and `code`.\n\n```python\nprint('hello')\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    reply = events_reply(message_events([text_block(text * 500, chunks=5000)]))
    screen.answers["flood"] = Reply((*reply.steps[:-4], Hold(), *reply.steps[-4:]))
    screen.open()
    screen.enter("flood", r"^A line with words")
    type_enter_and_leave(screen, is_busy=True)


@pytest.mark.slow
def test_fifty_extensions_that_start(screen):
    flags = flooders(screen, *(["quiet"] * 50))
    (screen.zot.cwd / "start").write_text(f'exec {screen.terminal.zot} "$@" {shlex.join(map(str, flags))}\n')
    screen.terminal.zot = "sh start"  # a terminal takes no longer lines
    screen.open(ready=r"^> ?$")
    type_enter_and_leave(screen)


@pytest.mark.slow
def test_all_at_once(screen):
    screen.answers["flood"] = screen.answers["results"] = tool_reply([("e3_tool", {})])
    screen.open(*flooders(screen, "notes", "long_notes", "long_lines", "quiet"), ready=SHOWN)
    screen.enter("/e3-hang", r"^… /e3-hang [1-9]")
    screen.enter("!yes without end", r"^  without end$")
    screen.enter("flood", r"working [1-9]")
    type_enter_and_leave(screen, is_busy=True)
