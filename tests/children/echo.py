"""A well-behaved extension as most people write it: tool `echo`, allows every tool call. argv: [name]."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name=sys.argv[1] if len(sys.argv) > 1 else "echo", version="1.0.0")
send(type="subscribe", intercept=["tool_call"])
send(type="register_tool", name="echo", description="Returns its text.", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    match frame["type"]:
        case "event_intercept":
            send(type="event_intercept_response", id=frame["id"])
        case "tool_call":
            text = frame["args"].get("text", "")
            send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])
        case "shutdown":
            send(type="shutdown_ack")
            break
