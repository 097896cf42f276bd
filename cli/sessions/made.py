"""Says which session a command has made, and how to go on with it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cli.dialogue import say
from cli.json_line import print_json

if TYPE_CHECKING:
    from pathlib import Path


def tell_of(path: Path, *, as_json: bool) -> int:
    """Prints the id of a new session, or with `as_json` all that a list has of it. Returns 0."""
    from agent.sessions.store import describe
    from cli.sessions.listing import short_id
    from wire.text import counted

    info = describe(path)
    if as_json:
        from agent.sessions.export.json import session_record
        from cli.sessions.records import fields

        print_json(fields(session_record(info)))
        return 0
    sys.stdout.write(info.id + "\n")
    say(f'{counted(info.messages, "message")}; go on with: zot -r {short_id(info)} -p "…"')
    return 0
