"""Remembers how large the definitions of each extension were when it last ran: `$ZOT_HOME/definitions.json`.

`zot ext list` and `zot mcp list` start nothing, and show them from there.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from supervisor.home.safe_files import read_file, replace_file
from supervisor.home.zot_home import private_folder
from supervisor.monitoring.stats import definition_tokens
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from supervisor.extension.extension import Extension

NAME = "definitions.json"
EXTENSIONS_KEPT = 500
"""Maximum number of extensions in the file: those whose figures changed last."""


class DefinitionSize(msgspec.Struct, frozen=True):
    """The size of the definitions of one extension."""

    tools: int
    tokens: int
    """Estimated tokens of each request to the model."""


class _Entry(msgspec.Struct, frozen=True):
    name: str
    place: str
    """The place of the extension, with links followed."""
    tools: int
    tokens: int


class _File(msgspec.Struct):
    extensions: tuple[_Entry, ...] = ()


Sizes = dict[tuple[str, str], DefinitionSize]
"""Sizes by the extension's name and place."""


def key_of(name: str, place: Path) -> tuple[str, str]:
    """The key of an extension; `place` is that of its `FoundExtension`, with links followed: two projects can have an
    extension of the same name."""
    return name, os.path.realpath(place)


def read_sizes(home: Path) -> Sizes:
    """The sizes in the file; empty if it is missing or damaged."""
    try:
        kept = msgspec.json.decode(read_file(home / NAME), type=_File).extensions
    except (OSError, *UNREADABLE):
        return {}
    return {(one.name, one.place): DefinitionSize(one.tools, one.tokens) for one in kept}


def sizes_keeper(home: Path, extensions: Sequence[Extension]) -> Callable[[], None]:
    """Returns a function to call after each sample, which keeps the file up to date. It reads and writes the file only
    when the definitions of an extension that has been ready have changed."""
    last: dict[str, DefinitionSize] = {}

    def sampled() -> None:
        nonlocal last
        sizes = {
            extension.name: _size(extension)
            for extension in extensions
            if extension.was_ready and extension.found.link is None
        }
        if sizes != last:
            last = sizes
            places = {extension.name: extension.found.place for extension in extensions}
            _merge(home, {key_of(name, places[name]): size for name, size in sizes.items()})

    return sampled


def _size(extension: Extension) -> DefinitionSize:
    return DefinitionSize(len(extension.offered), definition_tokens(extension))


def _merge(home: Path, sizes: Sizes) -> None:
    """Writes sizes that differ from the file. Not durable: a lost file costs only figures in a list."""
    known = read_sizes(home)
    changed = {key: size for key, size in sizes.items() if known.get(key) != size}
    if not changed:
        return
    kept = {key: size for key, size in known.items() if key not in changed} | changed
    entries = [_Entry(*key, size.tools, size.tokens) for key, size in list(kept.items())[-EXTENSIONS_KEPT:]]
    with suppress(OSError, UnicodeEncodeError):
        private_folder(home)
        replace_file(home / NAME, msgspec.json.encode(_File(tuple(entries))) + b"\n", mode=0o600, durable=False)
