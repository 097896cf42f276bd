"""Leaves a sleeping grandchild in its session, holding stdout and stderr. Tool `echo`. argv: pid file."""

import json
import subprocess
import sys
from pathlib import Path


def send(**frame):
    print(json.dumps(frame), flush=True)


sleeper = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
Path(sys.argv[1]).write_text(str(sleeper.pid))
send(type="hello", name="grandchild")
send(type="register_tool", name="echo", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        text = frame["args"].get("text", "")
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
