"""Tool `die`: kills itself with SIGKILL instead of answering."""

import json
import os
import signal
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="killed_in_call")
send(type="register_tool", name="die", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        os.kill(os.getpid(), signal.SIGKILL)
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
