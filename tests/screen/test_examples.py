"""The examples, from the keyboard."""

from __future__ import annotations

import shutil

import pytest

from tests.support.extension_folder import EXAMPLES
from tests.support.messages_server import tool_reply

NAMES = ("todo", "hello", "scratchpad", "guard", "weather")


@pytest.mark.skipif(not (shutil.which("node") and shutil.which("jq")), reason="hello needs jq, and scratchpad node")
def test_the_examples_from_the_keyboard(screen):
    terminal = screen.terminal
    screen.answers["tool"] = tool_reply([("weather", {"city": "Berlin"})])
    screen.answers["danger"] = tool_reply([("bash", {"command": "rm -rf /"})])
    screen.open(*[word for name in NAMES for word in ("--ext", EXAMPLES / name)])
    screen.enter("/todo buy tea", r"^\[/todo\] added: buy tea$")
    screen.enter("/todo", r"(?s)^╭─ To do \[todo\] .*buy tea.*^╰─+╯$")
    terminal.type(" ")
    terminal.wait_for(r"^│ > \[x\] buy tea")
    terminal.type("abrot")
    terminal.keys("BSpace")
    terminal.type("t 🎉")
    terminal.wait_for(r"^│ \+ brot 🎉_ +│$")
    terminal.keys("Enter", "Down")
    terminal.wait_for(r"^│   \[x\] buy tea +│\n│ > \[ \] brot 🎉 +│$")
    terminal.keys("DC")
    terminal.wait_for(r"(?s)^│ > \[x\] buy tea +│\n│ up/down")
    terminal.keys("Escape")
    terminal.wait_for(r"^>\nready")

    screen.enter("/hi Ada", r"(?s)^\[/hi\] Hello, Ada!$.*^\[hello\] greeted Ada$")
    screen.enter("/hello Ada", r"^re: Greet Ada in one cheerful sentence\.$")
    screen.enter("/note tests need node", r"^\[scratchpad\] noted$")
    screen.enter("/notes", r"tests need node$")
    shown = screen.prompt("use the tool")
    assert "● weather" in shown
    assert "refused bash" in screen.prompt("do the danger")
    screen.enter("/reload-ext", r"^reloaded: 5 stopped, 5 loaded \(5 ready\)$")
    screen.enter("/hi Bo", r"^\[/hi\] Hello, Bo!$")
