"""Prints the schemas that concern extensions."""

from __future__ import annotations

import json
import sys

from cli.choices import unknown
from wire.events import Status
from wire.schema import definitions, render


def run_schema(name: str | None, *, as_json: bool) -> int:
    """Prints one schema, or the names of all. A frame may be named without `frame.`; 2 for an unknown name."""
    known = {key: title for key, (_kind, title) in definitions().items() if key.startswith(("manifest", "frame."))}
    if name is None:
        for key, title in known.items():
            print(json.dumps({"name": key, "title": title}) if as_json else f"{key:34} {title}")  # noqa: T201
        return 0
    full = name if name in known else f"frame.{name}"
    if full not in known:
        short = [key.removeprefix("frame.") for key in known]
        print(f"zot ext schema: {unknown(name, short)}", file=sys.stderr)  # noqa: T201
        return Status.USAGE.exit_code
    text = render(full)
    sys.stdout.write(json.dumps(json.loads(text)) + "\n" if as_json else text)
    return 0
