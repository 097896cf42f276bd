"""Registers tool `echo`, says ready, closes its stdout and lives on without a voice until shutdown or EOF."""

import json
import os
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="closes_stdout")
send(type="register_tool", name="echo", schema={"type": "object"})
send(type="ready")
os.close(1)
for line in sys.stdin:
    if json.loads(line)["type"] == "shutdown":
        break
