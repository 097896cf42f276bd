"""Tool `deaf`, intercepts tool_call; never reads stdin: neither shutdown nor EOF ends it, SIGTERM does."""

import json
import signal


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="deaf")
send(type="subscribe", intercept=["tool_call"])
send(type="register_tool", name="deaf", schema={"type": "object"})
send(type="ready")
while True:
    signal.pause()
