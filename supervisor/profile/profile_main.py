"""The child of a host that makes one profile: the order is the last argument, the outcome one line on stdout, both
JSON. SIGTERM ends it, and closes what it had opened."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))

import msgspec

from supervisor.profile.errors import ProfileError
from supervisor.profile.outcome import Outcome, ProfileOrder
from supervisor.profile.profiler import make


def main() -> int:
    """Returns the exit status: 0 with a profile, else 1."""
    order = msgspec.json.decode(sys.argv[-1], type=ProfileOrder)
    try:
        outcome = Outcome(make(order))
    except ProfileError as error:
        outcome = Outcome(error=str(error))
    except OSError as error:
        outcome = Outcome(error=f"{error.filename or 'the profile'} cannot be written: {error.strerror or error}")
    except KeyboardInterrupt:
        outcome = Outcome(error="interrupted")
    os.write(1, msgspec.json.encode(outcome) + b"\n")
    return 0 if outcome.profile else 1


if __name__ == "__main__":
    sys.exit(main())
