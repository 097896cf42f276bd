"""Leaves a daemon behind: double fork, its own session, none of our pipes. Tool `echo`. argv: pid file."""

import json
import os
import sys
import time
from pathlib import Path


def send(**frame):
    print(json.dumps(frame), flush=True)


def start_daemon(pid_file):
    read, write = os.pipe()
    if middle := os.fork():
        os.waitpid(middle, 0)
        wait_for_sleep(int(os.read(read, 20)))
        return
    os.setsid()
    if daemon := os.fork():
        Path(pid_file).write_text(str(daemon))
        os.write(write, b"%d" % daemon)
        os._exit(0)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.execvp("sleep", ["sleep", "600"])


def wait_for_sleep(pid):
    # While a process becomes another program, it shows no environment, by which the host knows whose it is.
    command = Path(f"/proc/{pid}/cmdline")
    end = time.monotonic() + 20
    while command.exists() and not command.read_bytes().startswith(b"sleep") and time.monotonic() < end:
        time.sleep(0.001)


start_daemon(sys.argv[1])
send(type="hello", name="daemon_grandchild")
send(type="register_tool", name="echo", schema={"type": "object"})
send(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        text = frame["args"].get("text", "")
        send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": text}])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
