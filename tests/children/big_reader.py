"""Tool `length`: answers with the number of characters of args.text."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="big_reader")
send(type="register_tool", name="length", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        length = str(len(frame["args"]["text"]))
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": length}])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
