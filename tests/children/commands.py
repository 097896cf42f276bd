"""A well-behaved extension with tool `look` and a slash command for each action, by its name. argv: none."""

import json
import sys

ACTIONS = {
    "noop": {"action": "noop"},
    "prompt": {"action": "prompt", "prompt": "ask this"},
    "insert": {"action": "insert", "insert": "edit this"},
    "display": {"action": "display", "display": "see this"},
    "open_panel": {"action": "open_panel", "open_panel": {"id": "p", "title": "Panel", "lines": ["one"]}},
    "fail": {"error": "it cannot"},
    "odd": {"action": "dance"},
}


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="commands")
send(type="register_tool", name="look", description="Looks.", schema={"type": "object"})
for name in ACTIONS:
    send(type="register_command", name=name, description=f"Answers with {name}.")
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    match frame["type"]:
        case "command_invoked":
            send(type="command_response", id=frame["id"], **ACTIONS[frame["name"]])
        case "tool_call":
            send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": "seen"}])
        case "panel_key":
            send(type="panel_render", panel_id="p", lines=[frame["key"]])
        case "shutdown":
            send(type="shutdown_ack")
            break
