"""Sends register_tool before its hello."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="register_tool", name="early", schema={"type": "object"})
send(type="hello", name="first_frame_not_hello")
send(type="ready")
for line in sys.stdin:
    if json.loads(line)["type"] == "shutdown":
        send(type="shutdown_ack")
        break
