"""Tool `huge`: answers the first call with one line of 20 MiB, later calls with `small`."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="huge_line")
send(type="register_tool", name="huge", schema={"type": "object"})
send(type="ready")
text = "x" * (20 * 1024 * 1024)
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])
        text = "small"
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
