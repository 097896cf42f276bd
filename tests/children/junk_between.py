"""Writes junk before every frame but the first: text, half an object, an array, a number. Tool `echo`."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


def send_after_junk(**frame):
    print('Listening on port 3000\n{"type":"tool_res\n[1,2,3]\n42')
    send(**frame)


send(type="hello", name="junk_between")
send_after_junk(type="register_tool", name="echo", schema={"type": "object"})
send_after_junk(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        text = frame["args"].get("text", "")
        send_after_junk(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])
    elif frame["type"] == "shutdown":
        send_after_junk(type="shutdown_ack")
        break
