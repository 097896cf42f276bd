"""A well-behaved extension as most people write it: tool `NAME_echo` returns its text; allows what it guards.

argv: name [event…], the events that it guards.
"""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


name, *guarded = sys.argv[1:]
send(type="hello", name=name)
send(type="register_tool", name=f"{name}_echo", description="Returns its text.", schema={"type": "object"}, retry=True)
if guarded:
    send(type="subscribe", intercept=guarded)
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": frame["args"]["text"]}])
    elif frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
