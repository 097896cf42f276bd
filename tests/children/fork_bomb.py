"""Tool `fork`: all processes fork as fast as they can, half of them in sessions of their own; 50 forks in all."""

import json
import os
import signal
import sys

FORKS = 50


def send(**frame):
    print(json.dumps(frame), flush=True)


def explode():
    """Each fork takes a byte of a pipe that all share and that is never refilled, which bounds the bomb."""
    tokens, source = os.pipe()
    os.write(source, b"." * FORKS)
    os.close(source)
    generation = 0
    while os.read(tokens, 1):
        if os.fork() == 0:
            generation += 1
            if generation % 2:
                os.setsid()
    signal.pause()


signal.signal(signal.SIGTERM, signal.SIG_IGN)
send(type="hello", name="fork_bomb")
send(type="register_tool", name="fork", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": "boom"}])
        explode()
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
