"""An MCP server as small as `tests/children/echo.py`, without an SDK: tool `echo`. argv: [name]."""

import json
import sys

TOOL = {"name": "echo", "description": "Returns its text.", "inputSchema": {"type": "object"}}
name = sys.argv[1] if len(sys.argv) > 1 else "echo"
for line in sys.stdin:
    message = json.loads(line)
    match message["method"]:
        case "tools/call":
            text = message["params"]["arguments"].get("text", "")
            result: object = {"content": [{"type": "text", "text": text}]}
        case "initialize":
            version = message["params"]["protocolVersion"]
            server = {"name": name, "version": "1.0.0"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
        case "tools/list":
            result = {"tools": [TOOL]}
        case _:
            result = {}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
