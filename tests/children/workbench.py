"""Tools that a client of an MCP server may meet, and a slash command. argv: the file into which cancels are written."""

import json
import os
import sys

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="workbench", capabilities=["cancel"])
for tool in ("say", "count", "draw", "die", "hang", "grow", "swell"):
    send(type="register_tool", name=tool, schema={"type": "object"}, timeout_s=0.5 if tool == "hang" else 30)
send(type="register_tool", name="wait", schema={"type": "object"}, read_only=True)
send(type="register_command", name="plan", description="Plans.")
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
    if frame["type"] == "cancel":
        with open(sys.argv[1], "a", encoding="utf-8") as file:
            file.write(frame["reason"] + "\n")
    if frame["type"] == "command_invoked":
        send(type="command_response", id=frame["id"], action="prompt", prompt="plan " + frame.get("args", ""))
    if frame["type"] != "tool_call":
        continue
    content = [{"type": "text", "text": frame["args"].get("text", "")}]
    is_error = frame["args"].get("text") == "flaky"
    match frame["name"]:
        case "die":
            print("workbench: out of nails", file=sys.stderr)
            os._exit(7)
        case "hang" | "wait":
            continue
        case "count":
            for number in (1, 2):
                send(type="tool_progress", id=frame["id"], text=f"{number}/2")
        case "draw":
            odd = {"type": "image", "mime_type": "image/png", "data": "AAAA"}
            content = [{"type": "image", "mime_type": "image/png", "data": PNG}, odd]
        case "swell":
            content = [{"type": "text", "text": "x" * (5 << 20)}]
        case "grow":
            send(type="notify", level="warn", message="one more tool")
            send(type="register_tool", name="grown", schema={"type": "object"})
    send(type="tool_result", id=frame["id"], content=content, is_error=is_error)
