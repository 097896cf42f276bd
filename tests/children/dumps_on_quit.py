"""Tool `hang` never returns; on SIGQUIT it writes to stderr where it is (`faulthandler`) and hangs on."""

import faulthandler
import json
import signal
import sys
import threading


def send(**frame):
    print(json.dumps(frame), flush=True)


def wait_for_nothing():
    threading.Event().wait()


faulthandler.register(signal.SIGQUIT)
print("dumps_on_quit: at your service", file=sys.stderr, flush=True)
send(type="hello", name="dumps_on_quit")
send(type="register_tool", name="hang", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        wait_for_nothing()
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
