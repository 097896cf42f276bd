"""Checks the list `data` of a manifest, and decides which files of the extension's folder it covers. Pure."""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ENDINGS = (".json", ".jsonl", ".ndjson", ".log", ".db", ".sqlite", ".csv", ".txt")
"""Endings of files that `data` may name."""
NEVER_DATA = (
    "extension.json", ".mcp.json", ".zot-install.json", "package.json", "package-lock.json", "npm-shrinkwrap.json",
    ".pnp.data.json", "tsconfig*.json", "jsconfig*.json", "deno.json", "node.config.json", "nodemon.json",
    "babel.config.json", ".babelrc.json", "composer.json", "global.json", "launchsettings.json", "*.deps.json",
    "*.runtimeconfig.json", "*.runtimeconfig.dev.json", "requirements*.txt", "constraints*.txt", "entry_points.txt",
    "cmakelists.txt", "cmakepresets.json", "meson_options.txt", "conanfile.txt",
)  # fmt: skip
"""Lower-case names of files that decide which program runs, or where an update comes from: runtimes, package managers
and build tools read them unasked. No pattern of `data` covers them."""
LIMIT = 100
"""Maximum number of entries in `data`."""
_COMPANION = re.compile(r"\.tmp\Z|(?:(?<=\.db)|(?<=\.sqlite))-(?:wal|shm|journal)\Z")
"""End of the name of a file that is written beside another one, and counts as that one: before it is renamed, or by
SQLite."""
_BETWEEN_NAMES = re.compile(r"""[\s'"`;|&()<>,:$\\{}\[\]]+""")
"""Separates the names in a text for a shell."""
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


def covers(patterns: Iterable[str], path: str, words: tuple[str, ...] = ()) -> bool:
    """Whether one of the patterns covers a path in the extension's folder, which none of the words of a command line
    names."""
    path = _COMPANION.sub("", path)
    return any(_covers(pattern, path) for pattern in patterns) and not (_is_never_data(path) or _is_named(path, words))


def entry_for(path: str, words: tuple[str, ...]) -> str:
    """The entry of `data` for a path in the extension's folder; "" if it cannot be data. `words` as for `covers`."""
    entry = _COMPANION.sub("", path)
    return "" if "*" in entry or _data_fault(entry, words) else entry


def _covers(pattern: str, path: str) -> bool:
    ours, theirs = pattern.split("/"), path.split("/")
    return len(ours) == len(theirs) and all(map(_fits, ours, theirs))


def _fits(pattern: str, name: str) -> bool:
    """Whether a name matches this pattern, which has one `*` at most. No name is empty."""
    before, star, after = pattern.partition("*")
    if not star:
        return name == pattern
    is_hidden = not before and name.startswith(".")
    return (
        not is_hidden and len(name) >= max(1, len(before + after)) and name.startswith(before) and name.endswith(after)
    )


def _is_never_data(path: str) -> bool:
    name = _ascii(path.rpartition("/")[2])
    return any(fnmatchcase(name, pattern) for pattern in NEVER_DATA)


def _is_named(path: str, words: tuple[str, ...]) -> bool:
    named, path = _named(words), path.casefold()
    return path in named or f"/{path.rpartition('/')[2]}" in named


@lru_cache(maxsize=64)
def _named(words: tuple[str, ...]) -> frozenset[str]:
    """The paths that the words name, in lower case. `/NAME` stands for a file of any folder: where a path leads out of
    the folder, it may lead back, and a text for a shell may go elsewhere first."""
    named = {posixpath.normpath(path).casefold() for word in words for path in paths_in(word)}
    parts = [part for word in words if len(found := _BETWEEN_NAMES.split(word)) > 1 for part in found]
    anywhere = {path for path in named if path.startswith(("/", ".."))}
    anywhere |= {path.casefold() for part in parts for path in paths_in(part)}
    return frozenset(named | {f"/{path.rpartition('/')[2]}" for path in anywhere})


def _ascii(name: str) -> str:
    """One text for all names that a file system may take for the same name of ASCII: of any case, of letters that fold
    to these, or with characters that do not show."""
    if name.isascii():
        return name.lower()
    import unicodedata  # a library of C: only for the few that need it

    return unicodedata.normalize("NFKD", name).casefold().encode("ascii", "ignore").decode()


def data_faults(fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the place and the message of each fault of `data` in a manifest; `fields` is any JSON object."""
    entries = fields.get("data")
    if not isinstance(entries, list):
        return  # the decoder says so, or it is absent
    if len(entries) > LIMIT:
        yield "data", f"data: more than {LIMIT} entries; use a pattern, such as *.log"
    args = fields.get("args")
    words = (fields.get("exec"), *(args if isinstance(args, list) else ()))
    named = tuple(word for word in words if isinstance(word, str))
    for number, entry in enumerate(entries[:LIMIT]):
        if isinstance(entry, str) and (fault := _data_fault(entry, named)):
            yield f"data[{number}]", f"data[{number}]: {fault}"


def _data_fault(entry: str, words: tuple[str, ...]) -> str:
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
    if _is_named(entry, words):
        return f"{shown!r} is named by exec or args, and so is part of the program; leave it out"
    return ""
