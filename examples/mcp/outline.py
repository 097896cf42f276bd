"""An MCP server by hand, with the standard library alone: the classes and functions of a Python file.

Reads and writes one JSON object per line. docs/mcp.md tries it.
"""

import ast
import json
import sys

KINDS = {ast.ClassDef: "class", ast.FunctionDef: "def", ast.AsyncFunctionDef: "async def"}
TOOL = {
    "name": "outline",
    "description": "Classes and functions of a Python file, with their lines.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    "annotations": {"readOnlyHint": True},
}


def outline(path):
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    found = (f"{node.lineno}: {KINDS[type(node)]} {node.name}" for node in ast.walk(tree) if type(node) in KINDS)
    return "\n".join(found) or "nothing"


def called(path):
    try:
        return {"content": [{"type": "text", "text": outline(path)}]}
    except (OSError, ValueError, SyntaxError) as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}


def answer(method, params):
    if method == "initialize":
        server = {"name": "outline", "version": "1.0"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return called(**params["arguments"])
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params"))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
