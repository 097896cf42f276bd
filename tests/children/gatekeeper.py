"""Refuses calls with the text "forbidden", writes "loud" in capitals, withholds the result "secret", asks about
"asked", adds to "noted", and has what fails once tried again. argv: none."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="gatekeeper")
send(type="subscribe", intercept=["tool_call", "tool_result", "error"])
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
        elif text == "asked":
            verdict |= {"ask": True, "reason": "it costs money"}
        elif text == "noted":
            verdict["additional_context"] = "before"
    elif frame["event"] == "error":
        if "flaky" in frame["error"]:
            verdict |= {"error_handling": "retry", "retry_count": 1, "notification": "once more"}
    else:
        text = "".join(block.get("text") or "" for block in frame["content"])
        if text == "secret":
            verdict |= {"block": True, "reason": "it is a secret"}
        elif text == "draft":
            verdict["modified_result"] = {"content": [{"type": "text", "text": "final"}]}
        elif text == "noted":
            verdict["additional_context"] = "after"
    send(**verdict)
