"""An extension as a run has ten of them: tool `echo_NAME`, hears of turns; the one named p0 guards tool calls. With
`mcp` it is an MCP server. It notes its start in the file `started`.

argv: name, the folder of that file, [mcp].
"""

import json
import os
import sys

name, folder, *kind = sys.argv[1:]
with open(os.path.join(folder, "started"), "ab", buffering=0) as started:
    started.write(b"%d\n" % os.getpid())
TOOL = {"name": f"echo_{name}", "description": "Returns its text."}


def send(**frame):
    print(json.dumps(frame), flush=True)


def serve_zot():
    send(type="hello", name=name, version="1.0.0", features=["leases"])
    send(type="subscribe", events=["turn_start", "turn_end"], intercept=["tool_call"] if name == "p0" else [])
    send(type="register_tool", schema={"type": "object"}, **TOOL)
    send(type="ready")
    for line in sys.stdin:
        frame = json.loads(line)
        match frame["type"]:
            case "event_intercept":
                send(type="event_intercept_response", id=frame["id"])
            case "tool_call":
                send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": frame["args"]["text"]}])
            case "lease_begin":
                send(type="lease_ready", id=frame["id"])
            case "shutdown":
                send(type="shutdown_ack")
                break


def serve_mcp():
    for line in sys.stdin:
        message = json.loads(line)
        match message["method"]:
            case "tools/call":
                text = message["params"]["arguments"]["text"]
                result = {"content": [{"type": "text", "text": text}]}
            case "initialize":
                version = message["params"]["protocolVersion"]
                server = {"name": name, "version": "1.0.0"}
                result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
            case "tools/list":
                result = {"tools": [{**TOOL, "inputSchema": {"type": "object"}}]}
            case _:
                result = {}
        if "id" in message:
            send(jsonrpc="2.0", id=message["id"], result=result)


if kind:
    serve_mcp()
else:
    serve_zot()
