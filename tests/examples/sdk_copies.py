"""The copies of the SDKs inside of examples: an installed extension is its folder and nothing else, so the folder
has to contain the SDK that the extension imports.

`make setup` makes the copy of the Python SDK, and `python -m tests.examples.sdk_copies` the copy of the TypeScript SDK,
which is committed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "extensions"
COPIES = {
    EXAMPLES / "todo" / "zotext": ROOT / "zotext",
    EXAMPLES / "scratchpad" / "vendor" / "zotext": ROOT / "sdk" / "typescript" / "dist",
}
NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.pyc", "*.tsbuildinfo")


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if path.suffix != ".tsbuildinfo"}


def main() -> None:
    for copy, source in COPIES.items():
        if files(source) != files(copy):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(source, copy, ignore=NOT_COPIED)
            print(f"copied {source.relative_to(ROOT)} to {copy.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
