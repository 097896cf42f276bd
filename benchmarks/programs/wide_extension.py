"""An extension with many tools that nobody calls. argv: the number of tools, and the characters of each description."""

import json
import sys

count, characters = map(int, sys.argv[1:])


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="wide", version="1.0.0")
for number in range(count):
    send(type="register_tool", name=f"wide_{number:03}", description="w" * characters, schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    if json.loads(line)["type"] == "shutdown":
        send(type="shutdown_ack")
        break
