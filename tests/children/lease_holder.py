"""A leased extension. Its tool does as `args.do` says; its lease begins as the folder of the run is named.

argv: FILE, to which it writes each frame that it gets, with its pid; then the features of its hello.
"""

import json
import os
import sys


def send(**frame):
    print(json.dumps(frame), flush=True)


def answer(frame, text):
    send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])


def begin(frame):
    """Begins a lease in the way that the last part of the folder says."""
    match os.path.basename(frame["cwd"]):
        case "silent":
            return
        case "dies":
            os._exit(3)
        case "wrong":
            send(type="lease_ready", id="lease-999")
            send(type="notify", level="info", message="about the session before")
            send(type="submit", text="of the session before")
            return
        case "early":
            send(type="notify", level="info", message="about the session before")
            send(type="submit", text="of the session before")
            send(type="call_tool", id="early", name="read", args={})
            send(type="notify", level="info", message="about this one", session_id=frame["session_id"])
        case "twice":
            send(type="lease_ready", id=frame["id"])
    send(type="lease_ready", id=frame["id"])


def call(frame, kept):  # noqa: C901
    args = frame["args"]
    match args["do"]:
        case "pid":
            answer(frame, str(os.getpid()))
        case "whose":
            answer(frame, frame["lease"])
        case "crash":
            os._exit(3)
        case "keep":
            kept.append(frame)
        case "late":
            for each in kept:
                answer(each, "late")
            answer(frame, "done")
        case "note":
            send(type="notify", level="info", message=args["text"], session_id=args.get("session"))
            answer(frame, "noted")
        case "progress":
            send(type="tool_progress", id=frame["id"], text="half")
            kept.append(frame)
        case "call":
            parent = frame["id"] if args.get("for") == "call" else None
            send(type="call_tool", id="c1", name="read", args={"path": "a"}, parent_id=parent)
            kept.append(frame)
        case "submit":
            send(type="submit", text=args["text"])
            answer(frame, "submitted")
        case "panel":
            send(type="open_panel", panel={"id": "p1", "title": "t", "lines": ["one"]})
            answer(frame, "opened")
        case "tool":
            send(type="register_tool", name=args["text"], description="", schema={"type": "object"})
            answer(frame, "registered")
        case "memory":
            kept.append(" " * (int(args["text"]) << 20))
            answer(frame, "grown")
        case "unasked":
            send(type="lease_ready", id=args["text"])
            answer(frame, "sent")


def main(record, *features):
    kept, lease = [], ""
    send(type="hello", name="leased", capabilities=["call_tool"], features=list(features or ["leases"]))
    send(type="subscribe", events=["session_start", "session_end", "turn_start"], intercept=["tool_call"])
    send(type="register_tool", name="do", description="Does it.", schema={"type": "object"})
    send(type="register_command", name="who", description="Says its pid.")
    send(type="ready")
    with open(record, "a") as out:
        for line in sys.stdin:
            frame = json.loads(line)
            print(json.dumps({"pid": os.getpid(), **frame}), file=out, flush=True)
            match frame["type"]:
                case "lease_begin":
                    lease = frame["session_id"]
                    begin(frame)
                case "lease_end":
                    lease = ""
                case "event_intercept":
                    path = (frame.get("tool_args") or {}).get("path")
                    said = {"bad": {"block": True, "reason": "bad"}, "secret": {"ask": True, "reason": "secret"}}
                    send(type="event_intercept_response", id=frame["id"], **said.get(path, {}))
                case "tool_call":
                    call({**frame, "lease": lease}, kept)
                case "command_invoked":
                    send(type="command_response", id=frame["id"], action="display", display=str(os.getpid()))
                case "tool_result" if kept:
                    answer(kept.pop(), "got " + json.dumps(frame["content"]))
                case "shutdown":
                    send(type="shutdown_ack")
                    return


main(*sys.argv[1:])
