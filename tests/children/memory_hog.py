"""Tool `eat`: answers, then holds args.mb MiB more than before."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="memory_hog")
send(type="register_tool", name="eat", schema={"type": "object"})
send(type="ready")
held = []
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": "yum"}])
        held.append(b"m" * (frame["args"]["mb"] << 20))
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
