"""Says hello, thinks for 0.6 s, then registers `slow_tool`; never says ready."""

import json
import sys
import time


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="slow_register")
time.sleep(0.6)
send(type="register_tool", name="slow_tool", schema={"type": "object"})
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": "slow"}])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
