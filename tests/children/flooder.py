"""Shows the user more than anyone can read. argv: NAME KIND. KIND is the name of a function below.

Every kind registers the command NAME, which begins it, and NAME-hang, which is never answered; `begin` as a third
argument begins it at once. All exit at shutdown or at the end of their input.
"""

import json
import os
import select
import sys
import time

BLOCK = 64 * 1024
LONG = 15 * 1024 * 1024
LONGEST_SHOWN = 4 * 1024 * 1024 - 4096
LONGEST_RESULT = 6 * 1024 * 1024 - 4096


class Flooder:
    def __init__(self, name):
        self.name = name
        self.partial = b""
        self.received = []

    def send(self, **frame):
        self.write(json.dumps(frame).encode() + b"\n")

    def write(self, data):
        """Writes all, then takes what has come meanwhile."""
        view = memoryview(data)
        while view:
            readable, writable, _ = select.select([0], [1], [])
            if readable:
                self.receive()
            if writable:
                view = view[os.write(1, view[:BLOCK]) :]
        self.take_all()

    def receive(self):
        data = os.read(0, 1 << 16)
        if not data:
            sys.exit()
        *lines, self.partial = (self.partial + data).split(b"\n")
        self.received += lines

    def read(self):
        """Waits for the host, and takes what has come."""
        self.receive()
        self.take_all()

    def take_all(self):
        while self.received:
            self.take(json.loads(self.received.pop(0)))

    def take(self, frame):
        kind = frame["type"]
        if kind == "shutdown":
            os.write(1, b'{"type":"shutdown_ack"}\n')
            sys.exit()
        if kind == "command_invoked" and frame["name"] == self.name:
            self.command(frame)
        elif kind == "tool_call":
            content = [{"type": "text", "text": "result " * (LONGEST_RESULT // 7)}]
            self.send(type="tool_result", id=frame["id"], content=content)
        elif kind == "panel_key":
            self.key(frame)

    def command(self, frame):
        self.has_begun = True
        self.send(type="command_response", id=frame["id"], action="noop")

    def key(self, frame):
        self.pressed = frame.get("text") or frame["key"]

    def serve(self, begins):
        os.set_blocking(1, False)
        self.has_begun, self.pressed = begins, ""
        self.send(type="hello", name=self.name)
        for command in (self.name, f"{self.name}-hang"):
            self.send(type="register_command", name=command, description=f"of {self.name}")
        self.send(type="register_tool", name=f"{self.name}_tool", description="long", schema={"type": "object"})
        self.send(type="ready")
        while not self.has_begun:
            self.read()


def quiet(child):
    """Shows nothing."""
    while True:
        child.read()


def notes(child):
    """Notes of about 60 bytes, as fast as they are read."""
    lines = [{"type": "notify", "level": "info", "message": f"note {number} of many"} for number in range(1000)]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    while True:
        child.write(data)


def long_notes(child):
    """Notes of 250 KiB, the longest that the host takes, as fast as they are read."""
    while True:
        child.send(type="notify", level="warn", message="note " * 50_000)


def long_lines(child):
    """Notes of 15 MiB, and as much without any meaning, by turns."""
    note = json.dumps({"type": "notify", "level": "info", "message": "n" * LONG}).encode() + b"\n"
    junk = b"junk " * (LONG // 5) + b"\n"
    while True:
        child.write(note)
        child.write(junk)


def redraws(child):
    """A panel, drawn again 1,000 times a second, that shows the key that it got last."""
    child.send(type="open_panel", panel={"id": "p", "title": child.name, "lines": ["no key"]})
    number, due = 0, time.monotonic()
    while True:
        lines = [f"key {child.pressed}", *(f"{number} {'x' * 40} {row}" for row in range(8))]
        child.send(type="panel_render", panel_id="p", lines=lines)
        number, due = number + 1, max(due + 1e-3, time.monotonic() - 0.1)
        if (wait := due - time.monotonic()) > 0 and select.select([0], [], [], wait)[0]:
            child.read()


def echoes(child):
    """A panel that shows the key that it got last, and is drawn again only then."""
    child.send(type="open_panel", panel={"id": "p", "title": child.name, "lines": ["no key"]})
    child.key = lambda frame: child.send(type="panel_render", panel_id="p", lines=[f"key {frame.get('text')}"])
    quiet(child)


def panels(child):
    """Opens panels and closes them, as fast as they are read."""
    while True:
        child.send(type="open_panel", panel={"id": "p", "title": child.name, "lines": ["here", "and gone"]})
        child.send(type="panel_close", panel_id="p")


def large_panels(child):
    """Twenty panels of 1,000 lines, drawn again as fast as they are read; the top one shows the last key."""
    lines = ["x" * 200] * 999
    for number in range(20):
        child.send(type="open_panel", panel={"id": f"p{number}", "title": child.name, "lines": lines})
    while True:
        for number in range(20):
            child.send(type="panel_render", panel_id=f"p{number}", lines=[f"key {child.pressed}", *lines])


def long_displays(child):
    """Answers its command with a text of 4 MiB."""
    child.command = lambda frame: child.send(
        type="command_response", id=frame["id"], action="display", display="shown " * (LONGEST_SHOWN // 6)
    )
    quiet(child)


if __name__ == "__main__":
    flooder = Flooder(sys.argv[1])
    try:
        flooder.serve(sys.argv[3:] == ["begin"])
        globals()[sys.argv[2]](flooder)
    except BrokenPipeError:
        sys.exit()
