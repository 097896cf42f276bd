"""A good hello, then fields of the wrong type: a tool named 5, a notify of 5, verdicts with block "yes"."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="wrong_types")
send(type="subscribe", intercept=["tool_call", "turn_start", "assistant_message"])
send(type="register_tool", name=5, schema={"type": "object"})
send(type="notify", level="info", message=5)
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block="yes")
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
