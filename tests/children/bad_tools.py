"""Registers seven tools that no model may see (bad schema or bad name) and one `good_tool`."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="bad_tools")
send(type="register_tool", name="null_schema", schema=None)
send(type="register_tool", name="string_schema", schema="object")
send(type="register_tool", name="invalid_schema", schema={"type": 5})
for name in ("", "has spaces", "read"):
    send(type="register_tool", name=name, schema={"type": "object"})
send(type="register_tool", schema={"type": "object"})
send(type="register_tool", name="good_tool", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": frame["name"]}])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
