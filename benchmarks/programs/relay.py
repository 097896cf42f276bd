"""The floor of a host that serves many: a select loop between one run and one extension, which decodes each frame with
orjson, writes an id of its own, the session and the folder into it, and encodes it again. No deadline, no queue, no
account.

argv: the path of the socket, the name of the extension, its command. Prints its pid and the extension's when it
listens; leaves when the run has gone.
"""

import os
import select
import socket
import subprocess
import sys

import orjson

path, name, *argv = sys.argv[1:]
extension = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
assert extension.stdin is not None
assert extension.stdout is not None
to, from_ = extension.stdin.fileno(), extension.stdout.fileno()
greeting = b""
while b'"ready"' not in greeting:
    greeting += os.read(from_, 65536)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen()
print(os.getpid(), extension.pid, flush=True)
connection, _ = listener.accept()
run = connection.fileno()
ids: dict[str, str] = {}
number = 0
rest = {run: b"", from_: b""}
while True:
    ready, _, _ = select.select((run, from_), (), ())
    for fd in ready:
        data = os.read(fd, 65536)
        if not data:
            extension.stdin.close()
            sys.exit(extension.wait())
        *lines, rest[fd] = (rest[fd] + data).split(b"\n")
        for line in lines:
            frame = orjson.loads(line)
            if fd == run:
                frame = frame["frame"]
                number += 1
                ids[str(number)] = frame["id"]
                frame["id"] = str(number)
                frame["session_id"], frame["cwd"] = "relay", "/tmp"
                os.write(to, orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE))
            else:
                frame["id"] = ids.pop(frame["id"])
                said = {"type": "ext", "extension": name, "frame": frame}
                os.write(run, orjson.dumps(said, option=orjson.OPT_APPEND_NEWLINE))
