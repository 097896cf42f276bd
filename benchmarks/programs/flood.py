"""After hello and ready, sends notify frames of one size without pause until end of file or shutdown.

argv: bytes of a frame, LF included.
"""

import os
import select
import sys

HEAD, TAIL = b'{"type":"notify","level":"info","message":"', b'"}\n'
frame = HEAD + b"f" * (int(sys.argv[1]) - len(HEAD) - len(TAIL)) + TAIL
flood = memoryview(frame * max(1, 65536 // len(frame)))
os.write(1, b'{"type":"hello","name":"flood"}\n{"type":"ready"}\n')
os.set_blocking(1, False)  # a blocked write would not see the end of file
position = 0
while True:
    readable, writable, _ = select.select([0], [1], [])
    if readable and b"shutdown" in (os.read(0, 65536) or b"shutdown"):
        break
    if writable:
        position = (position + os.write(1, flood[position:])) % len(flood)
