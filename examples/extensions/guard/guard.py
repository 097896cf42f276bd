#!/usr/bin/env python3
"""Refuses destructive shell commands. Each tool call and each refusal is a line in the log and in the audit."""

import json
import sys
import time

from audit import Audit
from rules import refusal

audit = Audit()


def send(**frame):
    print(json.dumps(frame), flush=True)


def log(text):
    print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), text, file=sys.stderr, flush=True)


def judge(frame):
    """Answers one question of the host. An answer with only `id` allows the call."""
    args = frame.get("tool_args")
    command = args.get("command") if isinstance(args, dict) else None
    is_shell = frame.get("tool_name") == "bash" and isinstance(command, str)
    if rule := refusal(command) if is_shell else None:
        send(type="event_intercept_response", id=frame["id"], block=True, reason=f"guard: refused by rule `{rule}`")
        log(f"refused [{rule}] {json.dumps(command)}")
        audit.write("refused", frame.get("tool_name"), args, rule=rule)
    else:
        send(type="event_intercept_response", id=frame["id"])


def main():
    send(type="hello", name="guard", version="1.0.0", capabilities=["events"])
    send(type="subscribe", events=["tool_call"], intercept=["tool_call"])
    send(type="ready")
    for line in sys.stdin.buffer:
        try:
            frame = json.loads(line)
            kind = frame["type"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            log(f"ignored a line that is not a frame: {error!r}")
            continue
        if kind == "event_intercept":
            judge(frame)
        elif kind == "event" and frame.get("event") == "tool_call":
            log(f"call {frame.get('tool_name')} {json.dumps(frame.get('tool_args'))}")
            audit.write("call", frame.get("tool_name"), frame.get("tool_args"))
        elif kind == "hello_ack":
            audit.open_in(frame.get("data_dir"), frame.get("extension_dir"))
        elif kind == "shutdown":
            send(type="shutdown_ack")
            break


if __name__ == "__main__":
    main()
