"""A server with one fault, and sound otherwise: tool `echo`, legacy era, ends with its input. argv: FAULT [ARGS]."""

from __future__ import annotations

import sys

import faulty_answers
import faulty_lines
import faulty_lists
import faulty_lives

FAULTS = faulty_answers.FAULTS | faulty_lines.FAULTS | faulty_lists.FAULTS | faulty_lives.FAULTS

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in FAULTS:
        sys.exit("one of: " + ", ".join(FAULTS))
    FAULTS[sys.argv[1]](*sys.argv[2:]).run()
