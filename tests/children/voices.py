"""The wires that a child speaks: zot's, MCP's and that of the Copilot CLI; `Voice` has what all three can do."""

import json
import os
import sys
from collections import namedtuple

Request = namedtuple("Request", "id tool args")
"""A tool call, or with `tool` None a question to a guard, whose frame is in `args`."""
SCHEMA = {"type": "object"}


def write(data):
    """Writes all bytes, and waits while the host does not read."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


class Voice:
    """`hello` and `ready` are a start; `before` runs just before the last message of it. `requests` yields until the
    end, and acknowledges it if the wire can do so."""

    obeys = True
    """Whether it ends when it is told to."""

    def __init__(self, name):
        self.name = name
        self.tools = ()

    def greet(self, *tools, guards=False):
        self.hello(*tools, guards=guards)
        self.ready()


class Zot(Voice):
    """A JSON object on each line. The child speaks first."""

    def send(self, **frame):
        write(json.dumps(frame).encode() + b"\n")

    def hello(self, *tools, guards=False, events=(), intercept=(), **fields):
        self.send(type="hello", name=self.name, **fields)
        intercept = ["tool_call"] if guards else list(intercept)
        if events or intercept:
            self.send(type="subscribe", events=list(events), intercept=intercept)
        for tool in tools:
            self.send(type="register_tool", name=tool, schema=SCHEMA)

    def ready(self, before=lambda: None):
        before()
        self.send(type="ready")

    def frames(self):
        """Each frame of the host but its answer to the hello, until shutdown or the end of the input."""
        for line in sys.stdin:
            frame = json.loads(line)
            if frame["type"] == "shutdown" and self.obeys:
                self.send(type="shutdown_ack")
                return
            if frame["type"] != "hello_ack":
                yield frame

    def requests(self):
        for frame in self.frames():
            if frame["type"] == "tool_call":
                yield Request(frame["id"], frame["name"], frame["args"])
            elif frame["type"] == "event_intercept":
                yield Request(frame["id"], None, frame)

    def answer(self, request, text, **fields):
        self.send(type="tool_result", id=request.id, content=[{"type": "text", "text": text}], **fields)

    def allow(self, request, **fields):
        self.send(type="event_intercept_response", id=request.id, **fields)


class JsonRpc(Voice):
    """Shared by both wires of JSON-RPC. The subclass writes and reads messages."""

    def messages(self):
        for line in sys.stdin.buffer:
            yield json.loads(line)

    def heard(self, field, value):
        """Returns the first message with this field, and takes those before it. Exits at the end of the input."""
        for message in self.incoming:
            if message.get(field) == value:
                return message
            self.take(message)
        sys.exit(0)

    def take(self, message):
        """Answers a request of the start."""


class Mcp(JsonRpc):
    """A JSON-RPC message on each line. The host speaks first."""

    def __init__(self, name):
        super().__init__(name)
        self.incoming = self.messages()

    def send(self, **message):
        write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def hello(self, *tools, guards=False):
        self.tools = tools
        asked = self.heard("method", "initialize")
        about = {"capabilities": {"tools": {}}, "serverInfo": {"name": self.name, "version": "1"}}
        self.send(id=asked["id"], result={"protocolVersion": asked["params"]["protocolVersion"], **about})

    def ready(self, before=lambda: None):
        asked = self.heard("method", "tools/list")
        before()
        self.take(asked)

    def take(self, message):
        if message.get("method") == "tools/list":
            tools = [{"name": tool, "inputSchema": SCHEMA} for tool in self.tools]
            self.send(id=message["id"], result={"tools": tools})
        elif message.get("method") == "ping":
            self.send(id=message["id"], result={})

    def requests(self):
        for message in self.incoming:
            if message.get("method") == "tools/call":
                yield Request(message["id"], message["params"]["name"], message["params"]["arguments"])
            else:
                self.take(message)

    def answer(self, request, text):
        self.send(id=request.id, result={"content": [{"type": "text", "text": text}]})


class Copilot(JsonRpc):
    """A JSON-RPC message behind each header with its length. The child joins, as the SDK does, without Node."""

    prefix = "copilot_"
    """Of its tools: it is refused if another extension has one of them."""

    def __init__(self, name):
        super().__init__(name)
        self.incoming = self.messages()
        self.session = os.environ.get("SESSION_ID") or "s-1"

    def send(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def messages(self):
        while header := sys.stdin.buffer.readline():
            length = int(header.rpartition(b":")[2])
            sys.stdin.buffer.readline()
            yield json.loads(sys.stdin.buffer.read(length))

    def ask(self, number, method, **params):
        self.send(id=number, method=method, params={"sessionId": self.session, **params})
        return self.heard("id", number)

    def hello(self, *tools, guards=False):
        self.ask("connect", "connect")
        offered = [{"name": self.prefix + tool, "description": "", "parameters": SCHEMA} for tool in tools]
        zot = {"hooks": ["preToolUse"] if guards else [], "starts": True}
        joined = self.ask("join", "session.resume", tools=offered, hooks=guards, extensionInfo={"zot": zot})
        if "error" in joined:
            sys.exit(joined["error"]["message"])

    def ready(self, before=lambda: None):
        before()
        self.send(method="zot.started", params={})

    def requests(self):
        for message in self.incoming:
            event = message.get("params", {}).get("event", {})
            if event.get("type") == "external_tool.requested":
                data = event["data"]
                yield Request(data["requestId"], data["toolName"].removeprefix(self.prefix), data["arguments"])
            elif message.get("method") == "hooks.invoke":
                yield Request(message["id"], None, message["params"])
            elif "method" in message and "id" in message:
                self.send(id=message["id"], result={})

    def answer(self, request, text):
        params = {"sessionId": self.session, "requestId": request.id, "result": text}
        self.send(id=f"r{request.id}", method="session.tools.handlePendingToolCall", params=params)

    def allow(self, request):
        self.send(id=request.id, result={})


STRANGE = {
    Zot: {"type": "no_such_frame"},
    Mcp: {"id": "own-1", "method": "no/such/method"},
    Copilot: {"id": "own-1", "method": "no.such.method"},
}
"""A message that no host knows, by wire."""
VOICES = {"zot": Zot, "mcp": Mcp, "copilot": Copilot}
