"""Faults of what is on stdout: words between the messages, other framings, lines without end."""

from __future__ import annotations

import json
import os

from faults import Faulty, fault
from server import LATER, text, tool

FAULTS = {}
MIB = 1 << 20


@fault(FAULTS, "prints-between")
class PrintsBetween(Faulty):
    """Logs each message to stdout, before and after the answer."""

    def on_request(self, request_id, method, params):
        self.write(b"-> " + method.encode() + b'\n{"level": 30, "msg": "a log line in JSON"}\n')
        super().on_request(request_id, method, params)
        self.write(b"<- done\n[1, 2]\n")


@fault(FAULTS, "prints-within")
class PrintsWithin(Faulty):
    """Prints without a line end: the answer follows on the same line."""

    def send(self, **message):
        self.write(b"working... {50%} ")
        super().send(**message)


@fault(FAULTS, "prints-within-id-last")
class PrintsWithinIdLast(Faulty):
    """The same with a server that writes the result first and the id last."""

    def send(self, **message):
        request_id = {"id": message.pop("id")} if "id" in message else {}
        line = json.dumps({**message, "jsonrpc": "2.0", **request_id})
        self.write(b"working... " + line.encode() + b"\n")


@fault(FAULTS, "prints-after")
class PrintsAfter(Faulty):
    """Words follow each message on its own line."""

    def send(self, **message):
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b" <- sent\n")


@fault(FAULTS, "pretty")
class Pretty(Faulty):
    """Writes its messages over many lines, for people."""

    def send(self, **message):
        self.write(json.dumps({"jsonrpc": "2.0", **message}, indent=2).encode() + b"\n")


@fault(FAULTS, "content-length")
class ContentLength(Faulty):
    """Frames its messages with a length, as language servers do."""

    def send(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))


@fault(FAULTS, "content-length-waits")
class ContentLengthWaits(Faulty):
    """Waits for a header before it says anything; a line of JSON is no header."""

    def on_line(self, line):
        pass


@fault(FAULTS, "odd-lines")
class OddLines(Faulty):
    """A byte order mark, lines that end in CR LF, and empty ones: still sound."""

    has_begun = False

    def send(self, **message):
        mark = b"" if self.has_begun else b"\xef\xbb\xbf"
        self.has_begun = True
        self.write(mark + json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\r\n\r\n \n")


@fault(FAULTS, "batches")
class Batches(Faulty):
    """Sends arrays of messages: a log message with each answer, and an empty array."""

    def send(self, **message):
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "batched"}}
        self.write(json.dumps([note, {"jsonrpc": "2.0", **message}]).encode() + b"\n[]\n")


@fault(FAULTS, "not-utf8")
class NotUtf8(Faulty):
    """Results hold a byte that is no UTF-8."""

    def __init__(self, *args):
        super().__init__(*args)
        self.add(tool(latin, "Answers in Latin-1."))

    def send(self, **message):
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode().replace(b"E-ACUTE", b"\xe9") + b"\n")


def latin(server, call, args):
    return text("caf" + "E-ACUTE")


@fault(FAULTS, "huge-line")
class HugeLine(Faulty):
    """Results of `size` bytes on one line, 42 MB unless said; tool `last` writes the id last, `first` does not."""

    def __init__(self, size="42000000", *args):
        super().__init__(*args)
        self.size = int(size)
        self.add(tool(first, "The id comes first."), tool(last, "The id comes last."))


def first(server, call, args):
    return text("x" * server.size)


def last(server, call, args):
    server.write(b'{"result":{"content":[{"type":"text","text":"')
    for _ in range(server.size // MIB + 1):
        server.write(b"x" * MIB)
    server.write(b'"}]},"jsonrpc":"2.0","id":%d}\n' % call)
    return LATER


@fault(FAULTS, "endless-line")
class EndlessLine(Faulty):
    """Writes one line without an end, from its first request on."""

    def on_request(self, request_id, method, params):
        while True:
            self.write(b"x" * MIB)


@fault(FAULTS, "closes-stdout")
class ClosesStdout(Faulty):
    """Closes its stdout once it has told its tools, and lives on."""

    def on_answered(self, method):
        if method == "tools/list":
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
