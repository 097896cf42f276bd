"""An MCP server that writes much at once. Arguments of its tool `bulk`: `size`, the bytes of its result; `pings`, the
number of pings in one write before it; `tools`, the number of further tools in its list, reported after the result.

argv: [name]
"""

import json
import os
import sys

PROPERTIES = {
    f"property_{i}": {"type": "string", "description": f"The property number {i} of what is asked for, in words."}
    for i in range(8)
}
SCHEMA = {"type": "object", "properties": PROPERTIES, "required": ["property_0"], "additionalProperties": False}
BULK = {"name": "bulk", "description": "Says much.", "inputSchema": {"type": "object"}}
state = {"tools": 0, "round": 0}


def tools():
    named = [f"tool_{state['round']}_{i}" for i in range(state["tools"])]
    return [BULK, *({"name": name, "description": f"Does {name}. " * 10, "inputSchema": SCHEMA} for name in named)]


def write(*messages):
    data = b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages)
    while data:
        data = data[os.write(1, data) :]


for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message or "id" not in message:
        continue
    number, args = message["id"], (message.get("params") or {}).get("arguments") or {}
    more = []
    match message["method"]:
        case "tools/call":
            pings = [{"id": f"p{i}", "method": "ping"} for i in range(args.get("pings", 0))]
            if pings:
                write(*pings)
            result: object = {"content": [{"type": "text", "text": "x" * args.get("size", 0)}]}
            if "tools" in args:
                state.update(tools=args["tools"], round=state["round"] + 1)
                more = [{"method": "notifications/tools/list_changed"}]
        case "initialize":
            version = message["params"]["protocolVersion"]
            offered = {"tools": {"listChanged": True}}
            result = {"protocolVersion": version, "capabilities": offered, "serverInfo": {"name": "b", "version": "1"}}
        case "tools/list":
            result = {"tools": tools()}
        case _:
            result = {}
    write({"id": number, "result": result}, *more)
