"""The audit: `audit.jsonl` in the data folder, one line for each call and each refusal. It is kept across sessions."""

import json
import os
import sys
import time

LIMIT = 5_000_000
"""Bytes of the file. At this size it replaces `audit.jsonl.1`, and a new file begins."""


class Audit:
    def __init__(self):
        self.path = None

    def open_in(self, data_dir, extension_dir):
        """Starts the audit if the host has named a data folder. zot names the folder of this program: no audit."""
        if data_dir and data_dir != extension_dir:
            self.path = os.path.join(data_dir, "audit.jsonl")

    def write(self, what, tool, args, **more):
        """A full disk must not stop the guard: a write error is only logged."""
        if self.path is None:
            return
        entry = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "what": what, "tool": tool, "args": args}
        try:
            with open(self.path, "ab", 0) as file:  # one write: the lines of two sessions do not mix
                file.write(json.dumps({**entry, **more}).encode() + b"\n")
                if file.tell() > LIMIT:
                    os.replace(self.path, self.path + ".1")
        except OSError as error:
            print(f"the audit misses a line: {error}", file=sys.stderr, flush=True)
