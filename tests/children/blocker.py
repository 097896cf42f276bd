"""Blocks every event of one kind. argv: event, reason."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


event, reason = sys.argv[1:]
send(type="hello", name="blocker")
send(type="subscribe", intercept=[event])
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block=True, reason=reason)
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
