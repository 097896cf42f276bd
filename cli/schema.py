"""`zot schema` and `zot ext schema`."""

from __future__ import annotations

import sys

import msgspec

from cli.json_line import print_json
from cli.os_errors import UnableError
from wire.exit_codes import Status
from wire.schema import definitions, render
from wire.suggestions import not_one_of

FRAME = "frame."


def show_schema(name: str | None, *, of_extensions: bool = False, as_json: bool = False) -> int:
    """Prints one schema, or the names of all of them; returns the exit status. With `of_extensions` there are only
    those of the manifest and of frames, and `name` may lack `frame.`. Raises `UnableError` for an unknown name."""
    known = {key: title for key, (_kind, title) in definitions().items()}
    if of_extensions:
        known = {key: title for key, title in known.items() if key.startswith(("manifest", FRAME))}
    if name is None:
        for key, title in known.items():
            if as_json:
                print_json({"name": key, "title": title})
            else:
                print(f"{key:34} {title}")  # noqa: T201
        return 0
    full = next((key for key in (name, FRAME + name) if key in known), None) if of_extensions else name
    if full not in known:
        raise UnableError(
            not_one_of(name, [key.removeprefix(FRAME) if of_extensions else key for key in known]), Status.USAGE
        )
    if as_json:
        print_json(msgspec.json.decode(render(full)))
    else:
        sys.stdout.write(render(full))
    return 0
