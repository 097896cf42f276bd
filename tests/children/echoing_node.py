"""A stand-in for the node program: sends back all that it reads. Lines with a meaning begin with `!`. Takes an uploaded
folder, but keeps only the names and sizes."""

import os
import signal
import sys
import tarfile
import time

files = ""
if len(sys.argv) > 1:
    with open(int(sys.argv[1]), "rb") as stream, tarfile.open(fileobj=stream, mode="r|gz") as tar:
        files = ", ".join(f"{entry.name} {entry.size}" for entry in tar)

while data := os.read(0, 65536):
    if data.startswith(b"!env"):
        data = "\0".join(f"{name}={value}" for name, value in os.environ.items()).encode() + b"\n"
    elif data.startswith(b"!cwd"):
        data = os.getcwd().encode() + b"\n"
    elif data.startswith(b"!files"):
        data = f"{files}\n".encode()
    elif data.startswith(b"!pid"):
        data = f"{os.getpid()} {os.getppid()}\n".encode()
    elif data.startswith(b"!exit"):
        print("the last words", file=sys.stderr)
        sys.exit(7)
    elif data.startswith(b"!stay"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(1, b"deaf\n")
        while True:
            time.sleep(3600)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]
