"""After hello and ready, sends frames of one size without pause until end of file or shutdown: notes, or results of
calls if they are too long for notes.

argv: bytes of a frame, LF included.
"""

import os
import select
import sys

NOTE = b'{"type":"notify","level":"info","message":"', b'"}\n'
RESULT = b'{"type":"tool_result","id":"0","content":[{"type":"text","text":"', b'"}]}\n'
LONGEST_NOTE = 256 * 1024

size = int(sys.argv[1])
head, tail = NOTE if size <= LONGEST_NOTE else RESULT
frame = head + b"f" * (size - len(head) - len(tail)) + tail
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
