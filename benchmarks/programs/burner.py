"""An extension that greets, is ready, and uses a processor without pause until it is told to stop."""

import os
import select

os.write(1, b'{"type":"hello","name":"burner"}\n{"type":"ready"}\n')
while True:
    sum(range(100_000))
    if select.select([0], [], [], 0)[0] and b"shutdown" in (os.read(0, 65536) or b"shutdown"):
        break
