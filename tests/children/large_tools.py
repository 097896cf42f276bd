"""Offers two tools whose definitions have 60,000 bytes each."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="large")
for name in ("first", "second"):
    send(type="register_tool", name=name, description="d" * 60_000, schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    if json.loads(line)["type"] == "shutdown":
        break
