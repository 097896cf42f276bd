"""An extension of a kill storm: tool `say` and a guard, both of which answer with the secret of their session, in any
order. Each frame names its session, and so do its arguments: they must agree. With `leased` it serves one session at a
time, and says so if a frame is of another one.

argv: [name [leased]].
"""

import json
import os
import random
import sys

name = sys.argv[1] if len(sys.argv) > 1 else "service"
is_leased = "leased" in sys.argv[2:]
lease = [""]
"""The session of the present lease."""
dice = random.Random(os.getpid())


def line(**frame):
    return json.dumps(frame).encode() + b"\n"


def answer(frame):
    """The answer as a line; None if there is none."""
    kind, request = frame["type"], frame.get("id")
    if kind in ("event_intercept", "tool_call"):
        said = frame["tool_args" if kind == "event_intercept" else "args"]
        secret, session = said["secret"], said["session"]
        if frame["session_id"] != session or (is_leased and session != lease[0]):
            secret = f"CROSSED: {frame['session_id']} {session} {lease[0]}"
        if kind == "tool_call":
            return line(type="tool_result", id=request, content=[{"type": "text", "text": secret}])
        return line(type="event_intercept_response", id=request, block=True, reason=secret)
    if kind == "lease_begin":
        lease[0] = frame["session_id"]
        return line(type="lease_ready", id=request)
    if kind == "lease_end":
        lease[0] = ""
    if kind == "shutdown":
        os.write(1, line(type="shutdown_ack"))
        sys.exit()
    return None


def write(data):
    while data:
        data = data[os.write(1, data) :]


write(
    line(type="hello", name=name, version="1.0.0", features=["leases"] * is_leased)
    + line(type="subscribe", intercept=["tool_call"])
    + line(type="register_tool", name=f"say_{name}", description="Returns its secret.", schema={"type": "object"})
    + line(type="ready")
)
rest = b""
while data := os.read(0, 65536):
    *lines, rest = (rest + data).split(b"\n")
    answers = [answer(json.loads(each)) for each in lines]
    answers = [each for each in answers if each is not None]
    dice.shuffle(answers)
    write(b"".join(answers))
