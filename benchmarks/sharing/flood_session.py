"""A session that floods: calls of an extension of a host without a pause.

argv: the path of the attach socket, the extension, the number of calls under way at the same time (0: as many as the
socket takes, whether they are answered or not). Prints "ready"; each line on stdin starts and stops it by turns. When
it is stopped, it reads what still comes, and prints the number of calls that it has sent.
"""

import os
import select
import sys
from pathlib import Path

from benchmarks.sharing.runs import TOOL_CALL, RawRun

path, extension, at_once = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
run = RawRun(path, f"flood-{at_once}", extension=extension)
call, sock = run.line(TOOL_CALL), run.sock
print("ready", flush=True)
number = open_ = 0
while os.read(0, 1):  # not more: the next line ends the flood, and `select` does not see what has been read
    waiting, first = b"", number
    while not select.select([sys.stdin], [], [], 0)[0]:
        if not waiting:
            count = 64 if not at_once else at_once - open_
            waiting = b"".join(call % each for each in range(number + 1, number + count + 1))
            number, open_ = number + count, open_ + count
        readable, writable, _ = select.select([sock], [sock] if waiting else [], [])
        if readable:
            open_ -= sock.recv(1 << 18).count(b"\n")
        if writable:
            waiting = waiting[sock.send(waiting) :]
    os.read(0, 1)
    while open_:
        if waiting:
            waiting = waiting[sock.send(waiting) :]
        open_ -= sock.recv(1 << 18).count(b"\n")
    print(number - first, flush=True)
