"""The line that is typed: completion, insertion, several lines, paste, history."""

from __future__ import annotations

from tests.screen.screen import last_text


def test_completion_names_all_commands_with_their_descriptions(screen):
    terminal = screen.terminal
    skill = screen.zot.home / "skills" / "tidy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: tidy\ndescription: Tidy the folder.\n---\nTidy it.\n")
    (screen.zot.cwd / "shot.txt").write_text("")
    screen.open("--with-skills", "--ext", screen.kit())
    screen.enter("/show me", r"^\[/show\] shown: me$")
    terminal.type("/")
    terminal.wait_for(r"^ +/help +Show the commands and the keys\.$")
    terminal.type("s")
    shown = terminal.wait_for(r"^ +/show +Show a text\. \[kit\]$")
    assert "/model" not in shown
    terminal.keys("Escape")
    terminal.wait_for(r"^> /s.*\nready")
    terminal.keys("C-c")
    terminal.type("/ti")
    terminal.wait_for(r"^ +/tidy +Tidy the folder\. \[skill\]$")
    terminal.keys("Tab")
    terminal.wait_for(r"^> /tidy$")
    terminal.keys("Enter", "Enter")
    terminal.wait_for(r"^> Use the skill 'tidy'\.$")

    terminal.type("look at @sh")
    terminal.wait_for(r"^ +shot\.txt")
    terminal.keys("Tab", "Enter")
    terminal.wait_for(r"^> look at @shot\.txt\nready")
    terminal.keys("C-c")
    terminal.type("/model claude-hai")
    terminal.wait_for(r"^ +claude-haiku-4-5 +200\.0k tokens$")
    terminal.keys("C-c")

    # Only this zot has /cost, so the extension's wins, and ours has a prefix; the Go zot has /help, too.
    screen.enter("/cost", r"^\[/cost\] the kit costs nothing$")
    screen.enter("/zot:cost", r"^\$[\d.]+, .* tokens: .* input")
    terminal.resize(80, 50)
    screen.enter("/help", r"^/zot:cost +Show tokens and dollars")
    screen.enter("/shw", r"^✗ no such command: /shw; did you mean /show\?$")


def test_insert_at_the_cursor_and_several_lines(screen):
    terminal = screen.terminal
    screen.open("--ext", screen.kit())
    screen.enter("/put one three", r"^> one three\nready")
    terminal.keys(*["Left"] * len("three"))
    terminal.type("two ")
    terminal.wait_for(r"^> one two three\nready")
    terminal.keys("C-c")
    terminal.type("first\\")
    terminal.keys("Enter")
    terminal.type("second")
    terminal.keys("M-Enter")
    terminal.type("日本語🎉")
    terminal.keys("C-j")
    terminal.type("last")
    terminal.wait_for(r"^> first\n  second\n  日本語🎉\n  last\nready")
    terminal.keys("Up", "Left", "DC")
    terminal.type("x")
    terminal.keys("Enter")
    terminal.wait_for(r"^re: last$")
    (request,) = screen.server.requests
    assert last_text(request) == "first\nsecond\n日本語x\nlast"


def test_a_paste_of_10000_lines_arrives_complete(screen):
    terminal = screen.terminal
    screen.open()
    pasted = "\n".join(f"row {number} äöü" for number in range(10_000))
    terminal.type("before ")
    terminal.paste(pasted)
    terminal.wait_for(r"^> before \[paste 1: 10000 lines\]$")
    terminal.type(" after")
    terminal.paste("a\nb")
    terminal.wait_for(r"^> before \[paste 1: 10000 lines\] aftera\n  b$")
    terminal.keys("Enter")
    terminal.wait_for(r"^re: b$")
    (request,) = screen.server.requests
    assert last_text(request) == f"before {pasted} aftera\nb"


def test_history_outlives_the_screen(screen):
    terminal = screen.terminal
    screen.open()
    screen.prompt("alpha one")
    screen.prompt("beta two")
    screen.leave()
    screen.open()
    terminal.type("draft")
    terminal.wait_for(r"^> draft\n")
    terminal.keys("C-c")
    terminal.wait_for(r"^>\nready")
    terminal.keys("Up")
    terminal.wait_for(r"^> draft\n")
    terminal.keys("Up")
    terminal.wait_for(r"^> beta two\n")
    terminal.keys("Up")
    terminal.wait_for(r"^> alpha one\n")
    terminal.keys("Down")
    terminal.wait_for(r"^> beta two\n")
    terminal.keys("C-c")
    terminal.wait_for(r"^>\nready")
    terminal.keys("C-r")
    terminal.type("alp")
    terminal.wait_for(r"^I-search backward: alp$")
    terminal.keys("Enter")
    terminal.wait_for(r"^> alpha one\nready")
    terminal.keys("Enter")
    terminal.wait_for(r"^re: alpha one$")
