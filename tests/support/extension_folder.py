"""Makes extension folders from the programs in tests/children and the examples."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

CHILDREN = Path(__file__).parents[1] / "children"
EXAMPLES = Path(__file__).parents[2] / "examples" / "extensions"


def extension(parent: Path, child: str, *args: str | Path, name: str | None = None, **manifest: Any) -> Path:
    """A folder for one of the children, by its file name or stem; the keywords go into the manifest."""
    script = CHILDREN / (child if "." in child else f"{child}.py")
    program = {
        ".py": [sys.executable, "-I", "-S", str(script)],
        ".sh": ["/bin/sh", str(script)],
        ".js": ["node", str(script)],
    }[script.suffix]
    return folder(parent, name or script.stem, [*program, *map(str, args)], **manifest)


def folder(parent: Path, name: str, argv: list[str], **manifest: Any) -> Path:
    made = parent / f"ext-{name}"
    made.mkdir(parents=True)
    (made / "extension.json").write_text(json.dumps({"name": name, "exec": argv[0], "args": argv[1:], **manifest}))
    return made
