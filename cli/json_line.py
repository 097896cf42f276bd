"""Prints JSON lines for other programs: one object per line."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from cli.os_errors import flush


def print_json(record: dict[str, Any]) -> None:
    """Prints and flushes one object. Raises `OSError` that names standard output."""
    try:
        text = msgspec.json.encode(record)
    except UnicodeEncodeError:  # a path may be any bytes
        import json

        plain = msgspec.to_builtins(record)
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    sys.stdout.buffer.write(text + b"\n")
    flush()
