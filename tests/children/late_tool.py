"""Ready at once without a tool; registers `late_tool` when it sees its first turn_start."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="late_tool")
send(type="subscribe", events=["turn_start"])
send(type="ready")
registered = False
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event" and not registered:
        send(type="register_tool", name="late_tool", schema={"type": "object"})
        registered = True
    elif frame["type"] == "tool_call":
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": "late"}])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
