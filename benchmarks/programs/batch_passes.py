"""`zot`, which measures its own batch. argv: the arguments of `zot`.

At the end the last line of stderr is an object: `first_s`, the processor seconds until the first attempt was journalled;
`longest_s`, those of the longest pass of the loop from then on, and of the longest stretch outside of passes.
"""

import json
import sys
import time

from agent.batch.journal.writer import Journal
from pyzot.__main__ import main
from supervisor.loop.loop import Loop

found = {"first_s": 0.0, "longest_s": 0.0}
since = 0.0
product_started, product_poll = Journal.started, Loop._pass


def started(journal, *given, **named):
    global since
    if not found["first_s"]:
        found["first_s"] = since = time.process_time()
    return product_started(journal, *given, **named)


def one_pass(loop, *given, **named):
    """Passes follow one another, so the time between two of their ends is that of one and what comes before it."""
    global since
    product_poll(loop, *given, **named)
    now = time.process_time()
    if found["first_s"]:
        found["longest_s"] = max(found["longest_s"], now - since)
    since = now


setattr(Journal, "started", started)  # noqa: B010
setattr(Loop, "_pass", one_pass)  # noqa: B010
try:
    main()
finally:
    if found["first_s"]:
        found["longest_s"] = max(found["longest_s"], time.process_time() - since)
    print(json.dumps(found), file=sys.stderr, flush=True)
