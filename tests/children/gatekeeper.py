"""Refuses calls with the text "forbidden", writes "loud" in capitals, withholds the result "secret". argv: none."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="gatekeeper")
send(type="subscribe", intercept=["tool_call", "tool_result"])
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
    if frame["type"] != "event_intercept":
        continue
    verdict = {"type": "event_intercept_response", "id": frame["id"]}
    if frame["event"] == "tool_call":
        text = frame["tool_args"].get("text", "")
        if text == "forbidden":
            verdict |= {"block": True, "reason": "that word is not said here"}
        elif text == "loud":
            verdict["modified_args"] = {"text": "LOUD"}
    else:
        text = "".join(block.get("text") or "" for block in frame["content"])
        if text == "secret":
            verdict |= {"block": True, "reason": "it is a secret"}
        elif text == "draft":
            verdict["modified_result"] = {"content": [{"type": "text", "text": "final"}]}
    send(**verdict)
