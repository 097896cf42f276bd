"""What a command prints for a machine: one JSON object per line."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from cli.exits import flush


def print_json(record: dict[str, Any]) -> None:
    """Raises `OSError` that names standard output."""
    try:
        text = msgspec.json.encode(record)
    except UnicodeEncodeError:  # the name of a folder need not be Unicode
        import json

        plain = msgspec.to_builtins(record)
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    sys.stdout.buffer.write(text + b"\n")
    flush()
