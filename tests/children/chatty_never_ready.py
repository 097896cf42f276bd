"""Sends a notify every 50 ms for ever and never says ready."""

import json
import os
import select


def send(**frame):
    print(json.dumps(frame), flush=True)


send(type="hello", name="chatty_never_ready")
while True:
    send(type="notify", level="info", message="still busy")
    if select.select([0], [], [], 0.05)[0]:
        received = os.read(0, 65536)
        if b'"shutdown"' in received:
            send(type="shutdown_ack")
        if b'"shutdown"' in received or not received:
            break
