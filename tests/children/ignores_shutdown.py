"""Tool `echo` works, but shutdown, EOF and SIGTERM change nothing: only SIGKILL ends it."""

import json
import signal
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


signal.signal(signal.SIGTERM, signal.SIG_IGN)
send(type="hello", name="ignores_shutdown")
send(type="register_tool", name="echo", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        text = frame["args"].get("text", "")
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])
while True:
    signal.pause()
