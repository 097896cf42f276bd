"""Tool `late`: holds a call back until the next one arrives, then answers both, the older first."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="answers_late")
send(type="register_tool", name="late", schema={"type": "object"})
send(type="ready")
waiting = []
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        waiting.append(frame["id"])
        if len(waiting) == 2:
            for call in waiting:
                send(type="tool_result", id=call, content=[{"type": "text", "text": f"answer to {call}"}])
            waiting.clear()
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
