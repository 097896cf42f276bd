"""An extension that shows everything that an extension can show. It writes each panel frame that it gets to HEARD.

usage: kit.py NAME HEARD

In its panels 2 opens another one, r draws it again, c closes it, and ! ends the extension.

The commands of one that is not named kit have its name before theirs: /other-show.
"""

import json
import os
import sys

NAME, HEARD = sys.argv[1:3]
PREFIX = "" if NAME == "kit" else f"{NAME}-"
EVIL = "\x1b[2J\x1b[H\x1b]0;owned\x07\x1b[31mred\x1b[0m\x07\u202eabc\x9b2J\x1b[?1049h"
"""Clears the screen, renames the window, rings, reverses text and changes to another screen, if a terminal gets it."""
COMMANDS = {
    "show": "Show a text.",
    "put": "Insert a text.",
    "say": "Send a prompt.",
    "notes": "Send a note of each level.",
    "unsay": "Take the notes back.",
    "open": "Open a panel.",
    "second": "Open another panel.",
    "long": "Open a long panel.",
    "evil": "Send control sequences.",
    "cost": "A name that only this zot has.",
    "help": "A name that the Go zot has.",
    "die": "End at once.",
    "fail": "Fail.",
}
PANELS = {
    "open": {"id": "one", "title": "First", "lines": ["first line", "日本語 🎉 wide"], "footer": "Esc closes"},
    "second": {"id": "two", "title": "Second", "lines": ["upon the first"], "footer": ""},
    "long": {"id": "long", "title": "Long", "lines": [f"line {number}" for number in range(1, 501)], "footer": "end"},
    "evil": {"id": "evil", "title": f"{EVIL}title", "lines": [f"{EVIL}line", "a\nb\rc"], "footer": f"{EVIL}footer"},
}


def send(**frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def carry_out(name, args):
    """The answer to a command."""
    if name == "evil":
        send(type="notify", level="info", message=f"{EVIL}note")
    elif name == "notes":
        for level in ("info", "success", "warn", "error"):
            send(type="notify", level=level, message=f"{level} of {NAME}")
    elif name == "unsay":
        send(type="clear_notes")
    elif name == "die":
        os._exit(3)
    answers = {
        **{panel: {"action": "open_panel", "open_panel": content} for panel, content in PANELS.items()},
        "show": {"action": "display", "display": f"{EVIL}{args}" if args == "evil" else f"shown: {args}"},
        "put": {"action": "insert", "insert": args},
        "say": {"action": "prompt", "prompt": args},
        "cost": {"action": "display", "display": "the kit costs nothing"},
        "fail": {"error": "it failed on purpose"},
    }
    return answers.get(name, {"action": "noop"})


def judge(frame):
    """Refuses a call with `rm -rf`, asks about one with `ask me`, and says nothing about one with `no verdict`."""
    args = json.dumps(frame.get("tool_args"))
    if "ask me" in args:
        send(type="event_intercept_response", id=frame["id"], ask=True, reason="because " * 120)
    elif "no verdict" not in args:
        bad = "rm -rf" in args
        send(type="event_intercept_response", id=frame["id"], block=bad, reason="no rm here" if bad else "")


# In one piece: a host takes one that pauses in between as ready, without its guard.
frames = [
    {"type": "hello", "name": NAME, "version": "1", "capabilities": ["commands", "tools", "events"]},
    *({"type": "register_command", "name": PREFIX + name, "description": text} for name, text in COMMANDS.items()),
    {"type": "register_tool", "name": f"{NAME}_tool", "description": "Say something.", "schema": {"type": "object"}},
    {"type": "subscribe", "events": [], "intercept": ["tool_call"]},
    {"type": "ready"},
]
sys.stdout.write("".join(json.dumps(frame) + "\n" for frame in frames))
sys.stdout.flush()
for line in sys.stdin:
    frame = json.loads(line)
    kind = frame["type"]
    if kind == "command_invoked":
        send(
            type="command_response", id=frame["id"], **carry_out(frame["name"][len(PREFIX) :], frame.get("args") or "")
        )
    elif kind == "tool_call":
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": f"{EVIL}result"}])
    elif kind == "event_intercept":
        judge(frame)
    elif kind.startswith("panel_"):
        if frame.get("text") == "2":
            send(type="open_panel", panel=PANELS["second"])
        elif frame.get("text") == "r":
            send(type="panel_render", panel_id=frame["panel_id"], lines=["drawn again"])
        elif frame.get("text") == "c":
            send(type="panel_close", panel_id=frame["panel_id"])
        elif frame.get("text") == "!":
            os._exit(3)
        with open(HEARD, "a", encoding="utf-8") as heard:
            heard.write(line)
    elif kind == "shutdown":
        send(type="shutdown_ack")
        break
