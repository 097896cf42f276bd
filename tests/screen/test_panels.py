"""Notes and panels of extensions, from the keyboard."""

from __future__ import annotations

import pytest

from tests.support.messages_server import text_reply, tool_reply
from tests.support.zot_process import wait_until

KEYS = {
    "Up": "up",
    "Down": "down",
    "Left": "left",
    "Right": "right",
    "Enter": "enter",
    "Tab": "tab",
    "BSpace": "backspace",
    "DC": "delete",
    "Home": "home",
    "End": "end",
    "PPage": "pageup",
    "NPage": "pagedown",
    "F5": "unknown",
    "C-x": "unknown",
}


def test_notes_go_with_their_sender_the_next_prompt_and_escape(screen):
    terminal = screen.terminal
    other = screen.kit("other")
    screen.open("--ext", screen.kit(), "--ext", other)
    shown = screen.enter("/notes", r"^\[kit\] info of kit\n\[kit\] success .*\n\[kit\] warn .*\n\[kit\] error of kit$")
    assert shown.count("info of kit") == 1, "the same line on stderr is not shown again"
    screen.enter("/unsay", r"^> /unsay\n>\nready")
    screen.enter("/notes", r"error of kit")
    screen.prompt("go on")
    assert "error of kit" not in terminal.screen()
    screen.enter("/notes", r"error of kit")
    terminal.keys("Escape")
    terminal.wait_for(r"^> /notes\n>\nready")


def test_each_key_reaches_the_panel(screen):
    terminal = screen.terminal
    screen.open("--ext", screen.kit())
    screen.enter("/open", r"^│ 日本語 🎉 wide +│$")
    screen.wait_until_heard("panel_resize", "one", "76", "11")
    for key, name in KEYS.items():
        terminal.keys(key)
        screen.wait_until_heard("panel_key", "one", name)
    terminal.type("q日")
    screen.wait_until_heard("panel_key", "one", "rune", "日")
    assert ("panel_key", "one", "rune", "q") in screen.heard()
    assert [frame[2] for frame in screen.heard() if frame[0] == "panel_key"] == [*KEYS.values(), "rune", "rune"]
    terminal.resize(40, 20)
    screen.wait_until_heard("panel_resize", "one", "36", "8")
    terminal.wait_for(r"^╭─ First \[kit\] ─+╮\n│ first line +│\n│ 日本語 🎉 wide +│$")
    terminal.keys("Escape")
    screen.wait_until_heard("panel_close", "one")
    terminal.resize(80, 24)
    screen.enter("/open", r"^╭─ First")
    terminal.keys("C-c")
    terminal.wait_for(r"^>\nready")
    wait_until(lambda: screen.heard().count(("panel_close", "one")) == 2)


def test_panels_scroll_and_stack_and_end_with_their_extension(screen):
    terminal = screen.terminal
    other = screen.kit("other")
    screen.open("--ext", screen.kit(), "--ext", other)
    screen.enter("/long", r"^╭─ Long \[kit\] 1-11 of 500 ─+╮\n│ line 1 ")
    terminal.keys("NPage")
    terminal.wait_for(r"^╭─ Long \[kit\] 12-22 of 500 ")
    terminal.keys(*["NPage"] * 50)
    terminal.wait_for(r"^╭─ Long \[kit\] 490-500 of 500 (?s:.*)^│ line 500 ")
    terminal.keys("PPage")
    terminal.wait_for(r"^╭─ Long \[kit\] 479-489 of 500 ")
    terminal.type("2")
    terminal.wait_for(r"^▸ Long \[kit\]\n╭─ Second \[kit\] ─+╮\n│ upon the first +│\n╰─+╯$")
    terminal.type("r")
    terminal.wait_for(r"^│ drawn again ")
    terminal.keys("Escape")
    terminal.wait_for(r"^╭─ Long \[kit\] 479-489 of 500 ")
    screen.wait_until_heard("panel_close", "two")
    terminal.type("2")
    terminal.wait_for(r"^│ upon the first")
    terminal.type("c")
    terminal.wait_for(r"(?s)^the panel Second of kit has closed$.*^╭─ Long")
    terminal.type("2")
    terminal.wait_for(r"^│ upon the first")
    terminal.type("!")
    shown = terminal.wait_for(r"(?s)^the panel Long of kit has closed$.*^>\nready")
    assert shown.count("the panel Second of kit has closed") == 2
    assert shown.count("it ended (exit 3)") == 1
    screen.enter("/other-show hi", r"^\[/other-show\] shown: hi$")


def test_nothing_of_others_controls_the_terminal(screen):
    terminal = screen.terminal
    evil = "\x1b[2J\x1b[H\x1b]0;owned\x07\x1b[31mred\x1b[0m\x1b[?1049h\x9b2J"
    screen.answers["model"] = text_reply(f"the model{evil} says")
    screen.answers["tool"] = tool_reply([("kit_tool", {"text": f"argument{evil}"})])
    screen.answers["results"] = text_reply("after the tool")
    before = screen.open("--ext", screen.kit())
    screen.prompt("ask the model")
    screen.prompt("ask the tool")
    screen.enter("/show evil", r"^\[/show\] red")
    shown = screen.enter("/evil", r"^╭─ red␇?abctitle \[kit\]")
    for text in ("the modelred says", "redabcresult", "redabcline", "redabcfooter", "redabcnote"):
        assert text in shown.replace("␇", ""), text
    state = terminal._run("display-message", "-p", "#{alternate_on} #{pane_title} #{cursor_flag}")
    assert "owned" not in state
    assert state.split()[0] == "0"
    assert before


@pytest.mark.parametrize("columns", [40])
def test_wide_characters_at_40_columns(screen, columns):
    terminal = screen.terminal
    terminal.resize(columns, 20)
    screen.answers["漢字"] = text_reply("日本語のテキスト🎉 " + "漢" * 30 + " end")
    screen.open()
    terminal.type("漢" * 30)
    terminal.wait_for("^> 漢{19}\n  漢{11}\n")
    terminal.keys("C-c")
    shown = screen.prompt("漢字")
    assert shown.replace("\n", "").replace(" ", "").count("漢") == 31
    assert "end" in shown
