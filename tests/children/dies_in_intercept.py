"""Intercepts everything and exits with 9 instead of giving a verdict."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="dies_in_intercept")
send(type="subscribe", intercept=["tool_call", "turn_start", "assistant_message"])
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        sys.exit(9)
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
