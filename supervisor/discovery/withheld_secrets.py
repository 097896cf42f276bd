"""Tells the user once which secrets an extension did not get: `$ZOT_HOME/withheld.json` keeps the names told.

The file and the lines have only names, never values.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from supervisor.discovery.environment import CUSTOM_HEADERS, HOST_SECRETS, withheld_secrets
from supervisor.home.config import NAME as CONFIG
from supervisor.home.safe_files import read_file, replace_file
from supervisor.home.zot_home import private_folder
from wire.lenient_json import UNREADABLE
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.home.config import Config

NAME = "withheld.json"
SET_FOR_ZOT = frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", CUSTOM_HEADERS})
"""Variables for zot itself, which almost every machine sets: the user expects that extensions do not get them."""
EXTENSIONS_KEPT = 500
"""Maximum number of extensions in the file; the most recently told ones stay."""
VARIABLES_KEPT = 500
"""Maximum number of variables of one extension in the file."""
NAMED = 5
"""Maximum number of extensions, and of variables, named in the line; the others are counted."""
GROUPS = 3
"""Maximum number of groups in the line. Extensions that did not get the same variables are a group."""
Told = dict[str, list[str]]
"""The names of variables that the user was told of, by extension."""


class _File(msgspec.Struct):
    told: Told = {}


def report_new(home: Path, found: Iterable[FoundExtension], config: Config, environ: Mapping[str, str]) -> str:
    """Returns a line about the secrets of `environ` that these extensions do not get, and of which the user has not
    been told; empty if there is nothing to tell. Remembers them as told. If the file is damaged or cannot be written,
    the user may be told twice; nothing is raised."""
    kept = [(each.manifest.name, names) for each in found if (names := _grantable(each, config, environ))]
    if not kept:
        return ""
    told = _read(home)
    new = {name: fresh for name, names in kept if (fresh := [one for one in names if one not in told.get(name, ())])}
    if not new:
        return ""
    _write(home, _merge(told, new))
    return line(new, home)


def line(new: Mapping[str, list[str]], home: Path) -> str:
    """The line for the user. `new` has the variables that were withheld, by extension; it is not empty. Pure."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, variables in new.items():
        alike.setdefault(tuple(variables), []).append(name)
    said = [f"{_starts(names)} without {_some(variables)}" for variables, names in list(alike.items())[:GROUPS]]
    if len(alike) > GROUPS:
        said.append("others without other ones")
    first, variables = next(iter(new.items()))
    wanted = [name for name in variables if name not in HOST_SECRETS] or variables  # not the host's keys
    example = msgspec.json.encode({"env_grant": {first: wanted[:1]}}).decode()
    return one_line(
        f"zot: {'; '.join(said)} (secrets by their names; shown once). zot ext info {shlex.quote(first)} tells more;"
        f" to hand one over, put {example} into {home / CONFIG}",
        2000,
    )


def _grantable(found: FoundExtension, config: Config, environ: Mapping[str, str]) -> list[str]:
    """The variables to tell of: the extension does not get them, and a manifest or a config can name them."""
    names = withheld_secrets(found.manifest, config, environ)
    return [name for name in names if name not in SET_FOR_ZOT and name.isascii() and name.isidentifier()]


def _starts(names: Sequence[str]) -> str:
    return f"extension {names[0]} starts" if len(names) == 1 else f"extensions {_some(names)} start"


def _some(names: Sequence[str]) -> str:
    """At most `NAMED` of the names, and the number of the others."""
    if len(names) <= NAMED:
        return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def _merge(told: Told, new: Told) -> Told:
    """The next content of the file: extensions that were told of last come last, and stay longest."""
    merged = {name: variables for name, variables in told.items() if name not in new}
    for name, variables in new.items():
        merged[name] = [*told.get(name, ()), *variables][-VARIABLES_KEPT:]
    return dict(list(merged.items())[-EXTENSIONS_KEPT:])


def _read(home: Path) -> Told:
    try:
        return msgspec.json.decode(read_file(home / NAME), type=_File).told
    except (OSError, *UNREADABLE):
        return {}


def _write(home: Path, told: Told) -> None:
    with suppress(OSError, UnicodeEncodeError):
        private_folder(home)
        replace_file(home / NAME, msgspec.json.encode(_File(told)) + b"\n", mode=0o600)
