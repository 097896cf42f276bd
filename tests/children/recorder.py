"""Observes all five events and appends every line that it receives to a file. argv: file, [name]."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name=sys.argv[2] if len(sys.argv) > 2 else "recorder")
send(type="subscribe", events=["session_start", "turn_start", "tool_call", "assistant_message", "turn_end"])
send(type="ready")
with open(sys.argv[1], "a", encoding="utf-8") as record:
    for line in sys.stdin:
        record.write(line)
        record.flush()
        if json.loads(line)["type"] == "shutdown":
            send(type="shutdown_ack")
            break
