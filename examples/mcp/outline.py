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
NO_SUCH_METHOD, INVALID_PARAMS = -32601, -32602  # of JSON-RPC


def outline(path):
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    found = (f"{node.lineno}: {KINDS[type(node)]} {node.name}" for node in ast.walk(tree) if type(node) in KINDS)
    return "\n".join(found) or "nothing"


def called(path):
    try:
        return {"content": [{"type": "text", "text": outline(path)}]}
    except (OSError, ValueError, TypeError, SyntaxError, RecursionError) as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}


def answer(method, params):
    if method == "initialize":
        server = {"name": "outline", "version": "1.0"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return called(params["arguments"]["path"])
    if method == "ping":
        return {}
    raise LookupError(f"no such method: {method}")


def reply(message):
    """The answer to a request; None for a notification, which has no id, and for an answer, which has no method."""
    if not isinstance(message, dict) or "id" not in message or "method" not in message:
        return None
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        return reply | {"result": answer(message["method"], message.get("params"))}
    except (KeyError, TypeError) as error:
        return reply | {"error": {"code": INVALID_PARAMS, "message": f"invalid params: {error}"}}
    except LookupError as error:
        return reply | {"error": {"code": NO_SUCH_METHOD, "message": str(error)}}


for line in sys.stdin.buffer:
    try:
        said = reply(json.loads(line))
    except (ValueError, RecursionError) as error:
        print(f"skipped a line that is no message: {error}", file=sys.stderr, flush=True)
        continue
    if said is not None:
        print(json.dumps(said), flush=True)
