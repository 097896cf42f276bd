"""Prints JSON lines for other programs: one object per line.

No byte of a line controls a terminal: all control characters are escaped, also those above 0x7f, and those that change
the direction of text. The values stay the same.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import msgspec

from cli.os_errors import flush

_CONTROLS = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]"  # DEL and C1
    rb"|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"  # U+061C, U+200E and 200F, U+2028-202E, U+2066-2069
)
"""What JSON need not escape. All else below 0x20 it does."""


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
    return _CONTROLS.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), text) + b"\n"
