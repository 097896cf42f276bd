"""Behaves as one of the functions of `sound`, `faulty_talk` and `faulty_ends`. argv: [zot|mcp|copilot] NAME [ARGS]."""

import sys

sys.path.insert(0, __file__.rpartition("/")[0])  # `-I` leaves it out

import faulty_ends  # noqa: F401
import faulty_talk  # noqa: F401
from faults import FAULTS
from sound import SOUND
from voices import VOICES

if __name__ == "__main__":
    wire, name, *args = sys.argv[1:] if sys.argv[1] in VOICES else ["zot", *sys.argv[1:]]
    (FAULTS | SOUND)[name](VOICES[wire](name), *args)
