"""Tool `twice`: answers each call with `first`, then with `second`."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="answers_twice")
send(type="register_tool", name="twice", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        for text in ("first", "second"):
            send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
