"""Type-ahead, abort, and the return to an earlier prompt."""

from __future__ import annotations

from tests.screen.screen import last_text, texts
from tests.support.messages_server import stall_midway, text_reply


def held(text: str):
    return stall_midway(text_reply(text), after=4)


def test_type_ahead_is_shown_taken_back_and_carried_out_in_order(screen):
    terminal = screen.terminal
    screen.answers["first"] = held("done with it")
    screen.open()
    screen.enter("first", r"^working ")
    screen.server.wait_until_held()
    screen.enter("second", r"^waits: second$")
    screen.enter("/model claude-opus-4-5", r"^waits: /model claude-opus-4-5$")
    screen.enter("third", r"^waits: third$")
    screen.enter("fourth", r"^waits: fourth\n>")
    terminal.keys("Up")
    terminal.wait_for(r"^waits: third\n> fourth\nworking")
    terminal.type("!")
    screen.server.release()
    shown = terminal.wait_for(r"(?s)^re: third$.*^> fourth!\nready · claude-opus-4-5")
    assert "waits:" not in shown
    asked = [(last_text(request), request.body["model"]) for request in screen.server.requests]
    assert asked == [
        ("first", "claude-haiku-4-5"), ("second", "claude-haiku-4-5"), ("third", "claude-opus-4-5"),
    ]  # fmt: skip
    scrollback = terminal.screen("-S", "-")
    order = [scrollback.index(text) for text in ("done with it", "re: second", "the model is", "re: third")]
    assert order == sorted(order)


def test_escape_aborts_and_twice_edits_the_last_prompt(screen):
    terminal = screen.terminal
    screen.answers["wrong"] = held("never to be read")
    screen.open()
    screen.prompt("a good one")
    screen.enter("the wrong", r"^never t")
    terminal.keys("Escape")
    terminal.wait_for(r"(?s)^✗ aborted$.*^ready · ")
    screen.prompt("the second")
    twice_escape(screen, "the second")
    terminal.keys("BSpace", "BSpace")
    screen.enter("X", r"^re: the secoX$")
    edited = texts(screen.server.requests[-1])
    assert "the secoX" in edited
    assert "the second" not in edited
    assert "a good one" in edited
    sessions = screen.zot.run("session", "list", "--json").json_lines
    assert len(sessions) == 2, "the edited one is a fork"

    screen.answers["</conversation>"] = text_reply("the summary")
    for number in range(3):
        screen.prompt(f"number {number}")
    screen.server.otherwise, answer = (lambda _request: text_reply("the summary")), screen.server.otherwise
    screen.enter("/compact", r"^the summary$")
    screen.server.otherwise = answer
    screen.prompt("after it")
    twice_escape(screen, "after it")
    terminal.keys("C-c")
    screen.prompt("another end")
    edited = texts(screen.server.requests[-1])
    assert "after it" not in edited
    assert "number 2" in edited
    assert edited[-1] == "another end"


def twice_escape(screen, prompt):
    screen.terminal.keys("Escape")
    screen.terminal.keys("Escape")
    screen.terminal.wait_for(rf"(?s)^before the last prompt again in the new session.*^> {prompt}\nready")
