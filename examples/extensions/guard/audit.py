"""The audit: `audit.jsonl` in the data folder, one line for each call and each refusal. Outlives logs and sessions."""

import json
import os
import sys
import time

LIMIT = 5_000_000
"""Bytes; then the file becomes `audit.jsonl.1`, in place of the one before."""


class Audit:
    def __init__(self):
        self.path = None

    def open_in(self, data_dir, extension_dir):
        """From now on there is one, if the host gives a folder that is not that of this program; zot does not."""
        if data_dir and data_dir != extension_dir:
            self.path = os.path.join(data_dir, "audit.jsonl")

    def write(self, what, tool, args, **more):
        """A disk that is full must not keep the guard from guarding."""
        if self.path is None:
            return
        entry = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "what": what, "tool": tool, "args": args}
        try:
            with open(self.path, "ab", 0) as file:  # one write for a line, so that sessions do not mix theirs
                file.write(json.dumps({**entry, **more}).encode() + b"\n")
                if file.tell() > LIMIT:
                    os.replace(self.path, self.path + ".1")
        except OSError as error:
            print(f"the audit misses a line: {error}", file=sys.stderr, flush=True)
