"""`zot` with another way to bring the journal to the disk. argv: the way, then the arguments of `zot`.

`turn` is the product's own: one sync for all lines of a turn of the loop. `line` syncs after each line, `none` not at
all. At the end the last line of stderr is an object: the syncs, and the seconds in them.
"""

import json
import sys
import time

from agent.batch.journal import writer
from pyzot.__main__ import main
from supervisor.home import safe_files

way = sys.argv.pop(1)
product_sync, product_write = safe_files.sync, safe_files.write_all
counted = {"syncs": 0, "seconds": 0.0}


def sync(fd):
    if way == "none":
        return
    began = time.perf_counter()
    product_sync(fd)
    counted["seconds"] += time.perf_counter() - began
    counted["syncs"] += 1


def write_each(fd, text):
    """The caller syncs after the last line."""
    *lines, last = text.splitlines(keepends=True)
    for line in lines:
        product_write(fd, line)
        sync(fd)
    product_write(fd, last)


setattr(writer, "sync", sync)  # noqa: B010
if way == "line":
    setattr(writer, "write_all", write_each)  # noqa: B010
try:
    main()
finally:
    print(json.dumps(counted), file=sys.stderr, flush=True)
