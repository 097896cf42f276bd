"""Makes extension folders from the programs in tests/children and the examples."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

CHILDREN = Path(__file__).parents[1] / "children"
EXAMPLES = Path(__file__).parents[2] / "examples" / "extensions"


RUNNERS = {".py": [sys.executable, "-I", "-S"], ".sh": ["/bin/sh"], ".js": ["node"]}


def child_argv(child: str, *args: str | Path, wire: str = "zot") -> list[str]:
    """The command of one of the children, by the name of its function or its file, on this wire. That of `echo` is
    the file in Python."""
    if child == "echo":
        child = "echo.py"
    script = CHILDREN / child
    if "." not in child:
        script, args = CHILDREN / "child.py", (*([wire] if wire != "zot" else []), child, *args)
    return [*RUNNERS[script.suffix], str(script), *map(str, args)]


def extension(parent: Path, child: str, *args: str | Path, name: str | None = None, **manifest: Any) -> Path:
    """A folder for one of the children; the keywords go into the manifest."""
    return folder(parent, name or Path(child).stem, child_argv(child, *args), **manifest)


def folder(parent: Path, name: str, argv: list[str], **manifest: Any) -> Path:
    made = parent / f"ext-{name}"
    made.mkdir(parents=True)
    (made / "extension.json").write_text(json.dumps({"name": name, "exec": argv[0], "args": argv[1:], **manifest}))
    return made
