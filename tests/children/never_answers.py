"""Tool `hang` and all three intercepts: reads every request and answers none."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="never_answers")
send(type="subscribe", intercept=["tool_call", "turn_start", "assistant_message"])
send(type="register_tool", name="hang", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    if json.loads(line)["type"] == "shutdown":
        send(type="shutdown_ack")
        break
