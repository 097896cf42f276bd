"""Checks the list `data` of a manifest, and decides which files of the extension's folder it covers. Pure."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

ENDINGS = (".json", ".jsonl", ".ndjson", ".log", ".db", ".sqlite", ".csv", ".txt")
"""Endings of files that `data` may name."""
NEVER_DATA = (
    "extension.json", "package.json", "tsconfig*.json", ".mcp.json", ".zot-install.json", "jsconfig*.json", "deno.json",
    "nodemon.json", "composer.json", "*.deps.json", "*.runtimeconfig.json", "entry_points.txt", "cmakelists.txt",
)  # fmt: skip
"""Lower-case names of files that decide which program runs, or where an update comes from: runtimes and build tools
read them unasked. No pattern of `data` covers them."""
LIMIT = 100
"""Maximum number of entries in `data`."""
_NOT_PLAIN = re.compile(r"[\x00-\x1f\x7f\\?\[\]{}]")


def paths_in(word: str) -> Iterator[str]:
    """Yields the paths that a word of a command line may name: the word itself, what follows its first `=`
    (`--config=../x.py`, `NAME=../x`), and what follows a flag of one letter (`-p../x`)."""
    yield word
    _, equals, value = word.partition("=")
    if equals:
        yield value
    if word[:1] == "-" != word[1:2]:
        yield word[2:]


def covers(patterns: Iterable[str], path: str) -> bool:
    """Whether one of the patterns covers a path in the extension's folder."""
    return any(_covers(pattern, path) for pattern in patterns) and not _is_never_data(path)


def _covers(pattern: str, path: str) -> bool:
    ours, theirs = pattern.split("/"), path.split("/")
    return len(ours) == len(theirs) and all(map(_fits, ours, theirs))


def _fits(pattern: str, name: str) -> bool:
    """Whether a name matches this pattern, which has one `*` at most."""
    before, star, after = pattern.partition("*")
    if not star:
        return name == pattern
    is_hidden = not before and name.startswith(".")
    return not is_hidden and len(name) >= len(before + after) and name.startswith(before) and name.endswith(after)


def _is_never_data(path: str) -> bool:
    name = path.rpartition("/")[2].lower()
    return any(_fits(pattern, name) for pattern in NEVER_DATA)


def data_faults(fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the place and the message of each fault of `data` in a manifest; `fields` is any JSON object."""
    entries = fields.get("data")
    if not isinstance(entries, list):
        return  # the decoder says so, or it is absent
    if len(entries) > LIMIT:
        yield "data", f"data: more than {LIMIT} entries; use a pattern, such as *.log"
    args = fields.get("args")
    words = [fields.get("exec"), *(args if isinstance(args, list) else ())]
    named = {posixpath.normpath(path) for word in words if isinstance(word, str) for path in paths_in(word)}
    for number, entry in enumerate(entries[:LIMIT]):
        if isinstance(entry, str) and (fault := _data_fault(entry, named)):
            yield f"data[{number}]", f"data[{number}]: {fault}"


def _data_fault(entry: str, named: Collection[str]) -> str:
    shown, parts = one_line(entry, 60), entry.split("/")
    if entry.startswith(("/", "~")) or ".." in parts:
        return f"{shown!r} leads out of the extension's folder; name a file in it, such as todos.json"
    if not entry or "" in parts or "." in parts or _NOT_PLAIN.search(entry):
        return f"{shown!r} is no plain path; write it as todos.json or logs/*.log, where * is the only wildcard"
    if any(part.count("*") > 1 for part in parts):
        return f"{shown!r} has more than one * in a name; write an entry for each kind of file"
    if not entry.endswith(ENDINGS):
        return f"{shown!r} must end in one of {' '.join(ENDINGS)}; keep other files in data_dir"
    if _is_never_data(entry):
        return f"{shown!r} is part of the program, never data; leave it out"
    return f"{shown!r} is named by exec or args, and so is part of the program; leave it out" if entry in named else ""
