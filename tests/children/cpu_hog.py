"""Tool `burn`: answers, then computes without end and hears nothing any more."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="cpu_hog")
send(type="register_tool", name="burn", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": "brr"}])
        while True:
            pass
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
