"""A stand-in for the node program: sends back all that it reads. Lines with a meaning begin with `!`."""

import os
import signal
import sys
import time

while data := os.read(0, 65536):
    if data.startswith(b"!env"):
        data = "\0".join(f"{name}={value}" for name, value in os.environ.items()).encode() + b"\n"
    elif data.startswith(b"!cwd"):
        data = os.getcwd().encode() + b"\n"
    elif data.startswith(b"!pid"):
        data = f"{os.getpid()} {os.getppid()}\n".encode()
    elif data.startswith(b"!exit"):
        print("the last words", file=sys.stderr)
        sys.exit(7)
    elif data.startswith(b"!stay"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(3600)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]
