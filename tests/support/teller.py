"""An extension that many runs may share: `teller.py NAME STARTS [EVENT]`.

Adds a line with its pid to the file STARTS. Its tool NAME answers with its pid, the session and the folder of the call;
with `die` in the arguments it kills itself instead, with `hold` it does not answer. With EVENT it guards: it allows
all, but kills itself for a tool call that contains `poison`. It can be leased.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any


def send(**frame: Any) -> None:
    print(json.dumps(frame), flush=True)


def answer(frame: dict[str, Any]) -> None:
    if frame["args"].get("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    if frame["args"].get("hold"):
        return
    text = f"{os.getpid()} {frame.get('session_id')} {frame.get('cwd')}"
    send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])


def main() -> None:
    name, starts, *guarded = sys.argv[1:]
    with open(starts, "a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    send(type="hello", name=name, version="1.0.0", features=["leases"])
    if guarded:
        send(type="subscribe", intercept=guarded)
    send(type="register_tool", name=name, description="Tells.", schema={"type": "object"})
    send(type="ready")
    for line in sys.stdin:
        frame = json.loads(line)
        match frame["type"]:
            case "event_intercept":
                if "poison" in line:
                    os.kill(os.getpid(), signal.SIGKILL)
                send(type="event_intercept_response", id=frame["id"])
            case "tool_call":
                answer(frame)
            case "lease_begin":
                send(type="lease_ready", id=frame["id"])
            case "shutdown":
                send(type="shutdown_ack")
                break


if __name__ == "__main__":
    main()
