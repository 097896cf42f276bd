"""An extension that needs of its surroundings what real ones need. Tool `NAME_errands`, with a `port` on loopback,
answers with the names of what it has done, or with the error of what it could not do. argv: NAME.

Tool `trespass` tries what the unit of a service takes away, and answers with what was refused.
"""

import ctypes
import json
import multiprocessing
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

KEEPS_LAYOUT = 0x0040000  # ADDR_NO_RANDOMIZE


def send(**frame):
    print(json.dumps(frame), flush=True)


def errands(told, args):
    with sqlite3.connect(Path(told["data_dir"]) / "notes.db") as database:  # its log is mapped into memory
        database.execute("PRAGMA journal_mode=wal")
        database.execute("CREATE TABLE IF NOT EXISTS notes (text)")
    database.close()
    yield "data"
    (Path(told["cwd"]) / "of-python").write_text("kept\n")
    yield "project"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program")
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(0o755)
        subprocess.run([program], check=True)
    yield "temporary"
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], stdin=subprocess.DEVNULL, check=True)
    with multiprocessing.get_context("fork").Lock():  # a semaphore in /dev/shm
        yield "child"
    with socket.create_connection(("127.0.0.1", args["port"])) as connection:
        connection.sendall(b"python\n")
    yield "loopback"
    assert ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 7)() == 7  # machine code made here
    yield "jit"


def trespass(_told, _args):
    attempts = {
        "realtime": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
        "personality": lambda: personality(KEEPS_LAYOUT),
    }
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError:
            yield name


def personality(value):
    if ctypes.CDLL(None, use_errno=True).personality(value) == -1:
        raise OSError(ctypes.get_errno(), "personality")


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own = sys.argv[1]
    tools = {f"{own}_errands": errands, "trespass": trespass}
    send(type="hello", name=own, version="1.0.0")
    for name in tools:
        send(type="register_tool", name=name, description="", schema={"type": "object"})
    send(type="ready")
    told = {}
    for line in sys.stdin:
        frame = json.loads(line)
        match frame["type"]:
            case "hello_ack":
                told = frame
            case "tool_call":
                try:
                    text, failed = " ".join(tools[frame["name"]](told, frame["args"])), False
                except Exception as error:
                    text, failed = repr(error), True
                content = [{"type": "text", "text": text}]
                send(type="tool_result", id=frame["id"], content=content, is_error=failed)
            case "shutdown":
                send(type="shutdown_ack")
                break


main()
