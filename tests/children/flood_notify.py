"""After hello and ready, floods notify frames in writes of 64 KiB until EOF; shutdown is ignored."""

import json
import os
import select


def line(**frame):
    return json.dumps(frame).encode() + b"\n"


def notify(message):
    return line(type="notify", level="info", message=message)


FLOOD = notify("f" * (128 - len(notify("")))) * 512

os.write(1, line(type="hello", name="flood_notify") + line(type="ready"))
os.set_blocking(1, False)  # a blocked write would not see EOF
position = 0
while True:
    readable, writable, _ = select.select([0], [1], [])
    if readable and not os.read(0, 65536):
        break
    if writable:
        position = (position + os.write(1, FLOOD[position:])) % len(FLOOD)
