"""Questions of guards on the screen and in plain lines: the deed is in sight, and only an answer to it decides."""

from __future__ import annotations

import pytest

from tests.support.messages_server import tool_reply

ASKED = r"^  echo ask me$\n^  answer yes, or no, or no and a reason$\n^yes/no>"


def ask(screen):
    """The model calls a tool that the guard asks about."""
    screen.answers["ask"] = tool_reply([("bash", {"command": "echo ask me"})])
    screen.terminal.command("please ask")
    return screen.terminal.wait_for(ASKED)


def results(screen):
    """The texts of the results that the model got last."""
    blocks = screen.server.requests[-1].body["messages"][-1]["content"]
    return "".join(part["text"] for block in blocks for part in block["content"])


def test_a_yes_a_no_with_a_reason_and_the_draft(screen):
    terminal = screen.terminal
    screen.open("--ext", screen.kit())
    shown = ask(screen)
    assert "kit asks whether bash may go on: because because" in shown
    terminal.command("maybe")
    terminal.wait_for(r"(?s)^answer yes, or no, or no and a reason$.*^yes/no>$")
    terminal.command("yes")
    terminal.wait_for(r"(?s)^  ask me$.*^ready")
    assert "ask me" in results(screen)
    ask(screen)
    terminal.command("no use make")
    terminal.wait_for(r"(?s)the user refused: use make.*^ready")
    assert "the user refused: use make" in results(screen)
    terminal.command("!echo ask me")
    terminal.wait_for(ASKED)
    terminal.keys("Escape")
    terminal.wait_for(r"(?s)aborted by the client.*^>$")
    terminal.keys("Up")
    assert "yes" not in terminal.wait_for(r"^> !echo ask me$").split("ready")[0].splitlines()[-1]


def test_what_is_typed_before_a_question_is_no_answer(screen):
    terminal = screen.terminal
    screen.open("--ext", screen.kit())
    screen.answers["ask"] = tool_reply([("bash", {"command": "sleep 0.5; echo ask me"})])
    terminal.type("!sleep 0.3; echo ask me")
    terminal.keys("Enter")
    terminal.wait_for(r"^yes/no>")
    terminal.keys("Escape")
    terminal.wait_for(r"^>$")
    terminal.type("a draft")
    terminal.wait_for(r"^> a draft$")


@pytest.mark.parametrize(("columns", "rows"), [(40, 12), (30, 6)])
def test_the_deed_is_in_sight_in_a_small_window(screen, columns, rows):
    screen.terminal.resize(columns, rows)
    screen.open("--ext", screen.kit(), ready=r"^ready")
    screen.answers["ask"] = tool_reply([("bash", {"command": "echo ask me"})])
    screen.terminal.command("please ask")
    assert "  echo ask me" in screen.terminal.wait_for(r"^yes/no>")


def test_after_the_end_of_stdin_a_question_is_answered_with_no(screen):
    outcome = screen.feed(b"!echo ask me\nh\xff end\n")
    assert outcome.status == 0
    assert "the user refused: no more input" in outcome.text
    assert "re: h" in outcome.text
    assert outcome.leftovers == []
