"""Appends a mark to args.path or args.text of tool calls and to assistant messages. argv: name, mark."""

import json
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


name, mark = sys.argv[1:]
send(type="hello", name=name)
send(type="subscribe", intercept=["tool_call", "assistant_message"])
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
    if frame["type"] != "event_intercept":
        continue
    verdict = {"type": "event_intercept_response", "id": frame["id"]}
    if frame["event"] == "assistant_message":
        verdict["replace_text"] = frame["text"] + " " + mark
    else:
        args = frame["tool_args"]
        marked = {key: args[key] + mark for key in ("path", "text") if isinstance(args.get(key), str)}
        if marked:
            verdict["modified_args"] = args | marked
    send(**verdict)
