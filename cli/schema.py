"""`zot schema`."""

from __future__ import annotations

import sys

from wire.exit_codes import Status
from wire.schema import definitions, render
from wire.suggest import not_one_of


def show_schema(name: str | None) -> None:
    """Prints one schema, or the names of all of them."""
    known = definitions()
    if name is None:
        for each, (_kind, title) in known.items():
            print(f"{each:28} {title}")  # noqa: T201
    elif name in known:
        sys.stdout.write(render(name))
    else:
        print(f"zot schema: {not_one_of(name, known)}", file=sys.stderr)  # noqa: T201
        sys.exit(Status.USAGE.exit_code)
