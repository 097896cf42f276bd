"""Writes junk before its hello: text, ANSI colours, invalid UTF-8, an empty line. Works then: tool `echo`."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


sys.stdout.buffer.write(b"npm WARN deprecated\n\x1b[31mred\x1b[0m\n\xff\xfe\x80\n\n")
sys.stdout.buffer.flush()
send(type="hello", name="junk_first")
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
