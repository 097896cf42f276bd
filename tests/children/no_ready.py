"""Registers `quiet_tool` at once and never says ready."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="no_ready")
send(type="register_tool", name="quiet_tool", schema={"type": "object"})
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": "quiet"}])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
