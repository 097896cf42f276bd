"""Decides where a tool's arguments are checked against its schema, and checks what is plainly cheap.

Extensions write the schemas, and all extensions wait while the loop runs one check. A schema of a few hundred bytes can
ask for millions of steps. So the loop checks only against plain schemas (`plain_schema`), and only so many values; a
checker process (`checkers`) does the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.registry.fault_text import invalid_args
from supervisor.registry.plain_schema import count_values, plain_faults
from wire.lenient_json import UNREADABLE, read

if TYPE_CHECKING:
    from supervisor.registry.registration import Tool

STEPS_LIMIT = 100_000
"""Parts of the schema times values in the arguments; at worst about a twentieth of a second."""
BYTES_LIMIT = 1024 * 1024
"""Bytes of the arguments."""


def fault_at_once(tool: Tool, args: bytes) -> str | None:
    """Returns the faults of the arguments, each with its path; "" if there are none. None if this is not plainly cheap:
    then a checker process must check them."""
    if not tool.plain_parts or len(args) > BYTES_LIMIT:
        return None
    try:
        value, _ = read(args)
    except UNREADABLE:
        return ""  # the caller reports invalid JSON
    most = STEPS_LIMIT // tool.plain_parts
    if count_values(value, most) > most:
        return None
    return invalid_args(plain_faults(tool.schema, value))
