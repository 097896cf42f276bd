"""Leads the lives that its words say, one at each start: before=3, greeted=3, ready, ready=a,b. argv: marks, words."""

import itertools
import json
import os
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


def count_this_life(marks):
    """From 0; each start makes one mark, also when several start at once."""
    for life in itertools.count():
        try:
            os.close(os.open(f"{marks}.{life}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        return life
    return None


life = count_this_life(sys.argv[1])
words = sys.argv[2:] or ["ready"]
end, _, value = words[min(life, len(words) - 1)].partition("=")
print(f"life {life}", file=sys.stderr, flush=True)
if end == "before":
    sys.exit(int(value))
send(type="hello", name="lives")
if end == "greeted":
    sys.exit(int(value))
send(type="subscribe", events=["session_start", "turn_start"], intercept=["tool_call"])
send(type="register_command", name="life")
for tool in ["life", "die", *value.split(",")]:
    if tool:
        send(type="register_tool", name=tool, description=f"beside {value}" if tool == "life" else "", schema={})
send(type="ready")
events = []
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call" and frame["name"] == "die":
        sys.exit(frame["args"].get("code", 1))
    elif frame["type"] == "tool_call":
        text = json.dumps({"life": life, "pid": os.getpid(), "events": events, "tool": frame["name"]})
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])
    elif frame["type"] == "command_invoked":
        send(type="command_response", id=frame["id"], action="display", display=f"life {life}")
    elif frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"])
    elif frame["type"] == "event":
        events.append(frame["event"])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
