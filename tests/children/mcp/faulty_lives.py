"""Faults of how servers start, live and end."""

from __future__ import annotations

import sys
import time

from faults import Faulty, fault
from server import LATER, McpError, log, tool

FAULTS = {}


@fault(FAULTS, "dies-at-import")
class DiesAtImport(Faulty):
    """Written for an older SDK, whose modules are elsewhere by now."""

    def run(self):
        import mcp_of_last_year.server.fastmcp  # noqa: F401


@fault(FAULTS, "usage")
class Usage(Faulty):
    """Wants an argument: prints its usage to stdout and exits with status 2."""

    def run(self):
        self.write(b"Usage: usage [options] <directory>\n\nOptions:\n  --help\n")
        log("usage: missing argument: directory")
        sys.exit(2)


@fault(FAULTS, "old-version")
class OldVersion(Faulty):
    """Answers `initialize` with an unknown version."""

    offered_version = "1999-01-01"


@fault(FAULTS, "other-future")
class OtherFuture(Faulty):
    """Refuses `initialize` and knows only a version of years to come."""

    def on_request(self, request_id, method, params):
        data = {"supported": ["2031-01-01"], "requested": "2025-11-25"}
        self.refuse(request_id, -32022, "Unsupported protocol version", data)


@fault(FAULTS, "refuses-initialize")
class RefusesInitialize(Faulty):
    """Answers `initialize` with an error."""

    def initialize(self, request_id, params):
        raise McpError(-32603, "EXAMPLE_TOKEN is not set")


@fault(FAULTS, "strange-initialize")
class StrangeInitialize(Faulty):
    """The result of `initialize` is no object."""

    def initialize(self, request_id, params):
        self.send(id=request_id, result=["2025-11-25"])
        return LATER


@fault(FAULTS, "bare-initialize")
class BareInitialize(Faulty):
    """The result of `initialize` has neither capabilities nor a name; all else is sound."""

    def initialize(self, request_id, params):
        return {"protocolVersion": params["protocolVersion"], "capabilities": None, "serverInfo": "x"}


@fault(FAULTS, "exits-in-call")
class ExitsInCall(Faulty):
    """Tool `leave` exits with status 0 instead of an answer, and so does a line of 10 MiB."""

    def __init__(self, *args):
        super().__init__(*args)
        self.add(tool(leave, "Exits."))

    def on_line(self, line):
        if len(line) > 10 << 20:
            sys.exit(0)
        super().on_line(line)


def leave(server, call, args):
    sys.exit(0)


@fault(FAULTS, "outlives-eof")
class OutlivesEof(Faulty):
    """Its timers go on after the end of its input: it keeps writing, until stdout is closed or it is signalled."""

    def on_eof(self):
        while True:
            self.notify("notifications/message", level="info", data="tick")
            time.sleep(0.05)
