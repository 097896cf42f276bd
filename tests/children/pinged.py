"""Answers pings until its tool `hush` is called; tool `echo` works on."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="pinged", capabilities=["ping"])
for tool in ("echo", "hush"):
    send(type="register_tool", name=tool, schema={"type": "object"})
send(type="ready")
hushed = False
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        hushed = hushed or frame["name"] == "hush"
        text = frame["args"].get("text", "")
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])
    elif frame["type"] == "ping" and not hushed:
        send(type="pong", id=frame["id"])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
