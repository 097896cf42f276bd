"""A server of the Messages API whose replies never end. Prints its port; the end of stdin ends it.

A prompt `call TOOL` is answered with a call of that tool, and its result with the next one; `code` with code and
tables, any other prompt with a text, `RATE` pieces a second.
"""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

RATE = 200
PIECES = ("The ", "model ", "writes ", "on, ", "with ", "*words* ", "and ", "`code`", ".\n", "\n", "- an item\n", "\n")
CODE = (
    "```python\n",
    *(f"def function_{number}(x: int) -> str:\n    return f'{{x}} {{y!r}}'  # a comment\n" for number in range(50)),
    "```\n\n", "| a | b | c |\n|---|---|---|\n",
    *(f"| {number} | two *words* | `three` |\n" for number in range(80)), "\n",
)  # fmt: skip
USAGE = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
MESSAGE: dict[str, Any] = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [], "stop_reason": None,
    "stop_sequence": None, "usage": USAGE,
}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.end_headers()
        try:
            self.event("message_start", message=MESSAGE)
            tool = asked_tool(body["messages"])
            if tool:
                self.call(tool)
            else:
                self.talk(CODE if "code" in json.dumps(body["messages"][-1]) else PIECES)
        except OSError:
            return

    def event(self, kind: str, **members: Any) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode())

    def call(self, tool: str) -> None:
        block = {"type": "tool_use", "id": f"toolu_{time.monotonic_ns()}", "name": tool, "input": {}}
        self.event("content_block_start", index=0, content_block=block)
        delta = {"type": "input_json_delta", "partial_json": "{}"}
        self.event("content_block_delta", index=0, delta=delta)
        self.event("content_block_stop", index=0)
        self.event(
            "message_delta", delta={"stop_reason": "tool_use", "stop_sequence": None}, usage={"output_tokens": 5}
        )
        self.event("message_stop")

    def talk(self, pieces: tuple[str, ...]) -> None:
        self.event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        number, began = 0, time.monotonic()
        while True:
            piece = pieces[number % len(pieces)]
            self.event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
            number += 1
            time.sleep(max(0.0, began + number / RATE - time.monotonic()))

    def log_message(self, *_: Any) -> None:
        return


def asked_tool(messages: list[dict[str, Any]]) -> str:
    """The tool that the last prompt asks for; "" for a text."""
    for message in reversed(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            if message["role"] == "user" and block["type"] == "text":
                word, _, tool = str(block["text"]).partition("call ")
                return tool.split()[0] if tool and not word else ""
    return ""


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
