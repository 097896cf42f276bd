"""Tool `open`: keeps args.count descriptors more open, half of them in a child of its own."""

import json
import os
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


def leak(count):
    for _ in range(count):
        os.open(os.devnull, os.O_RDONLY)


send(type="hello", name="fd_leak")
send(type="register_tool", name="open", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        half = frame["args"]["count"] // 2
        done, finished = os.pipe()
        alive, ours = os.pipe()
        if os.fork() == 0:
            os.close(ours)
            leak(half)
            os.write(finished, b".")
            os.read(alive, 1)  # until its parent ends
            os._exit(0)
        os.read(done, 1)
        leak(half)
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": "open"}])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
