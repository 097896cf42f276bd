"""Tool `die`: complains on stderr and exits with 7 instead of answering."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="dies_in_call")
send(type="register_tool", name="die", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        print("dies_in_call: something terrible happened", file=sys.stderr)
        sys.exit(7)
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
