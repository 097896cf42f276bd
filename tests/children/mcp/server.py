"""A sound MCP server without any SDK: it reads requests, answers them, and waits without a thread."""

from __future__ import annotations

import heapq
import itertools
import json
import os
import select
import sys
import time

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
KEY = "io.modelcontextprotocol/"
LATER = object()
"""Returned by a tool that answers by itself, or never."""


class McpError(Exception):
    """A request fails with this code."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Server:
    """One server. `era` is "legacy", "modern" or "both": then the first request decides, as with the SDKs."""

    era = "legacy"
    name = "reference"
    version = "1.0.0"
    instructions = None
    offered_version = None
    """The version in the answer to `initialize`; None answers with the client's, or the newest of the era."""
    early = False
    """Whether log messages, `list_changed` and a ping come before the answer to `initialize`."""
    pings = 0
    """Pings that must be answered before `initialize` is. They are all written before anything is read."""
    pages = 1
    changes = 0
    """How many times `list_changed` is sent after the client is ready; -1: after every list, for ever."""
    prompts = ()

    def __init__(self):
        self.tools = {}
        self.is_decided = False
        self.requests = itertools.count()  # as those of the SDKs, from 0: they meet the client's ids
        self.asked = {}
        self.pongs = 0
        self.cancelled = []
        self.open_calls = {}
        self.timers = []
        self.order = itertools.count()
        self.log_level = None
        self.listener = None

    # --- sending ------------------------------------------------------------------------------------------

    def write(self, data):
        """Writes all bytes; waits while the client does not read."""
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]

    def send(self, **message):
        self.write(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n")

    def answer(self, request_id, result):
        if self.is_modern:
            result = {"resultType": "complete", "_meta": {KEY + "serverInfo": self.info}, **result}
        self.send(id=request_id, result=result)

    def refuse(self, request_id, code, message, data=None):
        self.send(id=request_id, error={"code": code, "message": message} | ({} if data is None else {"data": data}))

    def notify(self, method, **params):
        self.send(method=method, params=params)

    def ask(self, method, done, **params):
        """Sends a request to the client; `done` gets its whole answer."""
        request_id = next(self.requests)
        self.asked[request_id] = done
        self.send(id=request_id, method=method, params=params)

    def tell_changed(self):
        if not self.is_modern:
            self.send(method="notifications/tools/list_changed")
        elif self.listener is not None:
            self.notify("notifications/tools/list_changed", _meta={KEY + "subscriptionId": self.listener})

    @property
    def is_modern(self):
        return self.era == "modern"

    @property
    def info(self):
        return {"name": self.name, "version": self.version}

    # --- running ------------------------------------------------------------------------------------------

    def run(self):
        """Serves until its input ends."""
        pending = b""
        while True:
            wait = max(0.0, self.timers[0][0] - time.monotonic()) if self.timers else None
            if select.select([0], [], [], wait)[0]:
                data = os.read(0, 1 << 16)
                if not data:
                    return self.on_eof()
                *lines, pending = (pending + data).split(b"\n")
                for line in lines:
                    self.on_line(line)
            now = time.monotonic()
            for _ in range(sum(timer[0] <= now for timer in self.timers)):
                heapq.heappop(self.timers)[2]()

    def after(self, seconds, action):
        heapq.heappush(self.timers, (time.monotonic() + seconds, next(self.order), action))

    def on_eof(self):
        """The input has ended: the server ends."""

    def on_line(self, line):
        message = json.loads(line)
        if "method" not in message:
            done = self.asked.pop(message.get("id"), None)
            if done:
                done(message)
        elif "id" in message:
            self.on_request(message["id"], message["method"], message.get("params") or {})
        else:
            self.on_notification(message["method"], message.get("params") or {})

    def on_request(self, request_id, method, params):
        try:
            self.judge_era(method, params)
            result = self.handle(request_id, method, params)
        except McpError as error:
            self.refuse(request_id, error.code, error.message, error.data)
        else:
            if result is not LATER:
                self.answer(request_id, result)
                self.on_answered(method)

    def judge_era(self, method, params):
        if self.era == "both" and not self.is_decided:
            self.era = "legacy" if method == "initialize" else "modern"
        self.is_decided = True
        if self.is_modern:
            meta = params.get("_meta") or {}
            version = params.get("protocolVersion") if method == "initialize" else meta.get(KEY + "protocolVersion")
            if version != MODERN or method == "initialize":
                supported = {"supported": [MODERN], "requested": version or ""}
                raise McpError(-32022, f"Unsupported protocol version: {version}", supported)
            if KEY + "clientCapabilities" not in meta:
                raise McpError(-32602, f"_meta has no {KEY}clientCapabilities")
            self.log_level = meta.get(KEY + "logLevel")

    def handle(self, request_id, method, params):
        match method:
            case "initialize" if not self.is_modern:
                return self.initialize(request_id, params)
            case "server/discover" if self.is_modern:
                return self.cacheable(supportedVersions=[MODERN], capabilities=self.capabilities(), **self.guidance())
            case "ping" if not self.is_modern:
                return {}
            case "logging/setLevel" if not self.is_modern:
                self.log_level = params["level"]
                return {}
            case "subscriptions/listen" if self.is_modern:
                self.listener = request_id
                honored = {name: True for name in ("toolsListChanged",) if params["notifications"].get(name)}
                self.notify(
                    "notifications/subscriptions/acknowledged",
                    notifications=honored,
                    _meta={KEY + "subscriptionId": request_id},
                )
                self.on_client_ready()
                return LATER
            case "tools/list":
                return self.list_tools(params.get("cursor"))
            case "tools/call":
                return self.call(request_id, params)
            case "prompts/list" if self.prompts:
                return self.cacheable(prompts=[prompt.definition for prompt in self.prompts])
            case "prompts/get" if self.prompts:
                return self.prompt(params)
        raise McpError(-32601, f"Method not found: {method}")

    def on_answered(self, method):
        if method == "tools/list" and self.changes < 0:
            self.tell_changed()

    def on_notification(self, method, params):
        if method == "notifications/initialized":
            self.on_client_ready()
        elif method == "notifications/cancelled":
            self.cancelled.append({"id": params.get("requestId"), "reason": params.get("reason")})
            if self.listener is not None and params.get("requestId") == self.listener:
                self.listener = None
            self.open_calls.pop(params.get("requestId"), None)

    def on_client_ready(self):
        for _ in range(max(0, self.changes)):
            self.tell_changed()

    # --- methods ------------------------------------------------------------------------------------------

    def initialize(self, request_id, params):
        asked = params["protocolVersion"]
        version = self.offered_version or (asked if asked in LEGACY else LEGACY[-1])
        result = {"protocolVersion": version, "capabilities": self.capabilities(), "serverInfo": self.info}
        result |= self.guidance()
        if self.early:
            self.notify("notifications/message", level="notice", data="before the answer")
            self.tell_changed()
            self.ask("ping", lambda answer: None)
        if not self.pings:
            return result

        def on_pong(answer):
            self.pongs += answer.get("result") == {}
            if self.pongs == self.pings:
                self.answer(request_id, result)

        for _ in range(self.pings):
            self.ask("ping", on_pong)
        return LATER

    def guidance(self):
        return {"instructions": self.instructions} if self.instructions else {}

    def capabilities(self):
        return {"tools": {"listChanged": True}, "logging": {}} | ({"prompts": {}} if self.prompts else {})

    def cacheable(self, **result):
        return result | ({"ttlMs": 0, "cacheScope": "private"} if self.is_modern else {})

    def list_tools(self, cursor):
        """Pages of about the same length; the cursor of the second is "", which is a string like any other."""
        cursors = [None, "", *(f"page {number}" for number in range(2, self.pages))][: self.pages]
        if cursor not in cursors:
            raise McpError(-32602, f"Invalid cursor: {cursor}")
        page = cursors.index(cursor)
        definitions = [tool.definition for tool in self.tools.values()]
        size = -(-len(definitions) // self.pages)
        result = self.cacheable(tools=definitions[page * size : (page + 1) * size])
        return result | ({"nextCursor": cursors[page + 1]} if page + 1 < self.pages else {})

    def call(self, request_id, params):
        tool = self.tools.get(params.get("name"))
        if tool is None:
            raise McpError(-32602, f"Unknown tool: {params.get('name')}")
        arguments = params.get("arguments")
        if not isinstance(arguments, dict):
            raise McpError(-32603, "arguments is no object")
        self.open_calls[request_id] = params
        result = tool(self, request_id, arguments)
        if result is not LATER:
            self.open_calls.pop(request_id, None)
        return result

    def finish(self, request_id, result):
        """Answers a call that was begun, unless it has been cancelled."""
        if self.open_calls.pop(request_id, None) is not None:
            self.answer(request_id, result)

    def progress(self, request_id, progress, total=None, message=None):
        params = self.open_calls.get(request_id)
        token = ((params or {}).get("_meta") or {}).get("progressToken")
        if token is not None:
            optional = {"total": total, "message": message}
            given = {key: value for key, value in optional.items() if value is not None}
            self.notify("notifications/progress", progressToken=token, progress=progress, **given)

    def prompt(self, params):
        for prompt in self.prompts:
            if prompt.definition["name"] == params.get("name"):
                return prompt(params.get("arguments") or {})
        raise McpError(-32602, f"Unknown prompt: {params.get('name')}")


class Definition:
    """A tool or a prompt: what is listed, and the function behind it."""

    def __init__(self, function, **definition):
        self.definition, self.function = definition, function

    def __call__(self, *args):
        return self.function(*args)


def tool(function, description, schema=None, **more):
    """A tool named like its function. `schema`: property names to their types, or the whole schema."""
    if schema is None or "type" not in schema:
        properties = {name: {"type": kind} for name, kind in (schema or {}).items()}
        schema = {"type": "object", "properties": properties}
    name = function.__name__.rstrip("_")
    return Definition(function, **{"name": name, "description": description, "inputSchema": schema, **more})


def text(value, **more):
    """A result with one text."""
    return {"content": [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}], **more}


def log(words):
    print(words, file=sys.stderr, flush=True)
