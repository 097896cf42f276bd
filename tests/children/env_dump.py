"""Tool `env`: answers with a JSON list of the names of its environment variables, sorted."""

import json
import os
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="env_dump")
send(type="register_tool", name="env", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        names = json.dumps(sorted(os.environ))
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": names}])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
