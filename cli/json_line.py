"""Prints JSON lines for other programs: one object per line.

No byte of a line controls a terminal: all control characters are escaped.
"""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from cli.os_errors import flush
from wire.text import printable_json


def print_json(record: dict[str, Any]) -> None:
    """Prints and flushes one object. Raises `OSError` that names standard output."""
    sys.stdout.buffer.write(json_line(record))
    flush()


def json_line(record: dict[str, Any]) -> bytes:
    """The object as JSON, with a line feed at its end."""
    try:
        text = msgspec.json.encode(record)
    except UnicodeEncodeError:  # a path may be any bytes
        import json

        plain = msgspec.to_builtins(record)
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return printable_json(text) + b"\n"
