"""Writes the blocking half of the Python API, `Runtime`, `Host` and `Batch`, from its asyncio half.

`python -m wire.rpc.blocking_half` writes the files. With `--check` it names those that are out of date, and exits with
1 if there are any. Besides `async` and `await`, the halves differ by marks in the asyncio half:

- `# blocking: CODE` is this code in the blocking half;
- a line that ends with `# not blocking` is missing there; if it begins a function, the function is;
- so is a paragraph of a docstring that begins with `asyncio:`.

Ruff, which formats all files, formats these.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

API = Path(__file__).parents[2] / "pyzot"
HALVES = {
    "async_runtime.py": "runtime.py",
    "async_host.py": "host.py",
    "batches/async_batch.py": "batches/batch.py",
}
"""File of the blocking half by file of the asyncio half, both in `pyzot`."""
NOTE = "# Written by `python -m wire.rpc.blocking_half` from {}; do not edit.\n"
RULES = [
    (re.compile(pattern, re.MULTILINE | re.DOTALL), to)
    for pattern, to in (
        (r"\n\n *asyncio: (?:(?!\n\n|\n *\"\"\"|\"\"\").)*", ""),
        (r"^( *)(?:async )?def [^\n]*# not blocking\n(?:\1 [^\n]*\n)*\n?", ""),
        (r"^[^\n]*# not blocking\n", ""),
        (r"# blocking: ", ""),
        (r"\basync (def|with|for)\b", r"\1"),
        (r"\(await ((?:[^()]|\([^()]*\))*)\)\.", r"\1."),
        (r"\bawait ", ""),
        (r"__a(enter|exit|iter|next)__", r"__\1__"),
        (r"\bStopAsyncIteration\b", "StopIteration"),
        (r"\bAsyncIterator\b", "Iterator"),
        (r"\b([aA])n (?=`?Async[A-Z])", r"\1 "),
        (r"\bAsync(?=[A-Z])", ""),
        (r"\basync iterator", "iterator"),
        (r"\basync_waits\b", "waits"),
    )
]


def blocking_half(text: str, source: str) -> str:
    """Returns the blocking half of a module of the asyncio half; `source` is its file in `pyzot`."""
    for pattern, to in RULES:
        text = pattern.sub(to, text)
    return _formatted(NOTE.format(source) + text)


def _formatted(text: str) -> str:
    """Sorts imports, removes unused ones, and formats the lines."""
    ruff, name = [sys.executable, "-m", "ruff"], ["--stdin-filename", str(API / "runtime.py"), "-"]
    for step in (["check", "--quiet", "--fix", "--select", "I,F401"], ["format", "--quiet"]):
        text = subprocess.run([*ruff, *step, *name], input=text, capture_output=True, text=True, check=True).stdout
    return text


def main(arguments: list[str]) -> int:
    """Returns the exit status."""
    stale = []
    for source, target in HALVES.items():
        text = blocking_half((API / source).read_text(encoding="utf-8"), source)
        if "--check" not in arguments:
            (API / target).write_text(text, encoding="utf-8")
        elif not (API / target).exists() or (API / target).read_text(encoding="utf-8") != text:
            stale.append(target)
    for target in stale:
        print(f"pyzot/{target} is out of date: run python -m wire.rpc.blocking_half", file=sys.stderr)  # noqa: T201
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
