"""An extension with a fault: its third call ends it, as a defect in a library would."""

import json
import os
import signal
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="dictionary", version="1.1.0")
send(type="register_tool", name="lookup", description="Looks a word up.", schema={"type": "object"})
send(type="ready")
calls = 0
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        calls += 1
        if calls == 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        word = frame["args"].get("word", "")
        text = f"{word}: {len(word)} letters"
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
