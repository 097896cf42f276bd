"""Writes 5 MiB to stderr before its hello, then works: tool `echo`."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


for number in range(5 * 1024):
    sys.stderr.write(f"{number:05} ".ljust(1023, "e") + "\n")
send(type="hello", name="stderr_flood")
send(type="register_tool", name="echo", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        text = frame["args"].get("text", "")
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
