"""Complains on stderr and exits with 3 before its hello."""

import sys

print("exits_before_hello: cannot find my configuration", file=sys.stderr)
sys.exit(3)
