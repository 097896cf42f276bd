"""Screens as text, at three sizes. `python -m tests.screen.test_golden` writes them anew."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.screen.screen import Screen
from tests.support.messages_server import (
    events_reply,
    message_events,
    stall_midway,
    text_block,
    text_reply,
    thinking_block,
    tool_reply,
)

GOLDEN = Path(__file__).with_name("golden")
REWRITES = "ZOT_TEST_WRITE_SCREENS"
VARIES = (
    (r"\d+\.\d+ s\b|\d+\.\d+s\b|\b\d+ s\b", "<time>"),
    (r"\$\d+\.\d+", "<dollars>"),
    (r" \b\d\.\d MiB|\d+\.\d MiB", "<size>"),  # of the same width in its column
)
MARKDOWN = """# Findings

Some *emphasis*, **bold**, `code` and a [link](https://example.com/a); List<int> stays.

1. first
2. second, with a line that has to be wrapped because it does not fit into forty columns
   - nested

| name | value |
|---|---|
| a | 1 |
| b | 日本語 |

```python
def double(x):
    return 2 * x
```

> A quote.

Done 🎉"""
EDIT = {"path": "a.txt", "edits": [{"oldText": "two", "newText": "zwei"}]}


def answers():
    thinking = events_reply(message_events([thinking_block("I wonder."), text_block("Thought.")]))
    return {
        "markdown": events_reply(message_events([text_block(MARKDOWN, chunks=9)])),
        "tools": tool_reply(
            [("bash", {"command": "seq 30"}), ("write", {"path": "a.txt", "content": "one\ntwo\n"}), ("edit", EDIT),
             ("bash", {"command": "echo no >&2; exit 3"})], text="I look."),
        "refused": tool_reply([("bash", {"command": "rm -rf /"})]),
        "silent": tool_reply([("bash", {"command": "echo no verdict"})]),
        "results": text_reply("All is done."),
        "thinking": stall_midway(thinking, after=4),
        "long": stall_midway(text_reply("It takes some time."), after=4),
    }  # fmt: skip


def check(name: str, shown: str) -> None:
    """Compares a screen with its golden file."""
    for pattern, mask in VARIES:
        shown = re.sub(pattern, mask, shown)
    shown = "\n".join(line.rstrip() for line in shown.split("\n")).strip("\n") + "\n"
    path = GOLDEN / f"{name.replace(' ', '-')}.txt"
    if os.environ.get(REWRITES):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(shown, "utf-8")
    assert shown == path.read_text("utf-8")


@pytest.mark.parametrize(("columns", "rows"), [(40, 20), (80, 24), pytest.param(200, 50, marks=pytest.mark.slow)])
def test_screens(zot, server, columns, rows):
    with Screen.of(zot, server, columns, rows) as screen:
        screen.answers = answers()

        def golden(name: str, shown: str) -> None:
            check(f"{columns}/{name}", shown)
            screen.clear()

        golden("start", screen.open("--ext", screen.kit()).replace(" · 1 extension", ""))
        screen.enter("/show one line", r"shown: one line")
        screen.clear()
        golden("markdown", screen.prompt("show markdown"))
        golden("tools", screen.prompt("use tools"))
        golden("refused", screen.prompt("do the refused"))
        golden("no verdict", screen.prompt("be silent"))
        check(f"{columns}/notes", screen.enter("/notes", r"error of kit"))
        screen.terminal.keys("Escape")
        screen.terminal.wait_for(r"^> /notes\n>\nready")
        screen.clear()
        golden("fail", screen.enter("/fail", r"on purpose"))
        for name, last in (("help", r"^!COMMAND"), ("cost", r"^kit (?s:.*)process"), ("tools list", r"^write: "),
                           ("ext", r"^kit +ready")):  # fmt: skip
            command = {"cost": "zot:cost", "tools list": "tools"}.get(name, name)
            golden(f"command {name}", screen.enter(f"/{command}", last))
        screen.enter("/open", r"^╰─+╯\n>")
        golden_panel = screen.terminal.screen()
        screen.terminal.type("2")
        stacked = screen.terminal.wait_for(r"^▸ First")
        screen.terminal.keys("Escape")
        screen.terminal.wait_for(r"^│ first line")
        screen.terminal.keys("Escape")
        screen.terminal.wait_for(r"^>\nready")
        check(f"{columns}/panel stacked", stacked)
        golden("panel", golden_panel)
        screen.terminal.type("/")
        screen.terminal.wait_for(r"^ +/export")
        check(f"{columns}/menu", screen.terminal.screen())
        screen.terminal.keys("C-c")
        screen.clear()
        screen.enter("take long", r"^working")
        screen.server.wait_until_held()
        screen.enter("second in line", r"^waits: second in line$")
        screen.enter("/model claude-opus-4-5", r"^waits: /model claude-opus-4-5$")
        check(f"{columns}/queue", screen.enter("third in line", r"^waits: third"))
        screen.server.release()
        screen.terminal.wait_for(r"(?s)re: third in line$.*^ready")


def test_a_coloured_diff_and_folded_thinking(screen):
    screen.answers = answers()
    screen.open()
    screen.enter("some thinking", r"^… thinking 1 s$")
    screen.server.release()
    check("80/thinking", screen.terminal.wait_for(r"(?s)^Thought\.$.*^ready"))
    screen.clear()
    screen.prompt("use tools")
    check("80/coloured", screen.terminal.screen("-e"))


def test_without_colours_and_without_a_key(screen):
    screen.zot.env.pop("ANTHROPIC_API_KEY", None)
    screen.answers = answers()
    screen.open(before="NO_COLOR=1")
    screen.prompt("use tools")
    check("80/no colour", screen.terminal.screen("-e"))
    screen.leave()


if __name__ == "__main__":
    os.environ[REWRITES] = "1"
    sys.exit(pytest.main([__file__, "-q"]))
