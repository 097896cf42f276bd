"""Makes the manifest of a Copilot extension from its folder and from its `extension.json`, if it has one.

Program, protocol and name are known without that file, which may set neither program nor protocol.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.discovery.copilot import preparation  # noqa: F401  (a reload imports nothing later)
from supervisor.discovery.kind import COPILOT, NODE
from supervisor.home.copilot_folders import PROGRAM
from supervisor.home.safe_files import read_start
from wire.lenient_json import UNREADABLE
from wire.manifest import NAME_PATTERN, ManifestError, parse_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from wire.manifest import Manifest

READ_LIMIT = 1 << 20
"""Maximum of bytes of the program that are searched for the variables that it asks for."""
_ASKED = re.compile(rb"\brequestedEnvironmentVariables\s*:\s*\[([^\]]{0,4096})\]")
_NAME = re.compile(rb"""["'`]([A-Za-z_][A-Za-z0-9_]{0,127})["'`]""")
GIVEN = ("exec", "args", "dialect")
"""Fields that a manifest must leave out."""


def name_of(folder: Path) -> str:
    """The name of the extension in a folder: that of the folder."""
    return os.path.basename(os.path.normpath(folder))


def has_no_exec(text: bytes) -> bool:
    """Whether `text` is an object without `exec`. False if it cannot be read."""
    try:
        fields = msgspec.json.decode(text)
    except UNREADABLE:
        return False
    return isinstance(fields, dict) and "exec" not in fields


def copilot_manifest(folder: Path, text: bytes | None, name: str = "") -> Manifest:
    """The manifest of the extension in a folder. `text` is that of its `extension.json`; None if it has none. Without
    `name` it gets the folder's name. Raises `ManifestError`, with one line that names the fault."""
    name = name or name_of(folder)
    if re.search(NAME_PATTERN, name) is None:
        rule = "it names the extension: 1 to 64 characters, without control characters, and not starting with a dot"
        raise ManifestError(f"its folder must be renamed: {rule}")
    given = {"name": name, "exec": NODE, "args": [PROGRAM], "dialect": COPILOT}
    manifest = parse_manifest(text if text is not None else b"{}", given)  # says also if a fault is one of a guard's
    if text is None:
        manifest.__dict__["text"] = b""
    else:
        _check(msgspec.json.decode(text), name, manifest)
    _look_at_program(folder, manifest)
    return _with_env(manifest, variables_in(read_start(folder / PROGRAM, READ_LIMIT)))


def variables_in(program: bytes) -> tuple[str, ...]:
    """The variables that a program lists as words in `requestedEnvironmentVariables`. They count like the `env` of a
    manifest: the user is told of them before the extension is trusted, and further ones need trust again."""
    found = (name for listed in _ASKED.findall(program) for name in _NAME.findall(listed))
    return tuple(dict.fromkeys(name.decode() for name in found))


def _with_env(manifest: Manifest, names: tuple[str, ...]) -> Manifest:
    more = tuple(name for name in names if name not in manifest.env)
    if not more:
        return manifest
    asking = msgspec.structs.replace(manifest, env=(*manifest.env, *more))
    asking.__dict__.update(manifest.__dict__)
    return asking


def _check(fields: dict[str, Any], name: str, manifest: Manifest) -> None:
    for field in GIVEN:
        if field in fields:
            raise _error(
                f"manifest: {field}: zot starts {PROGRAM} itself, and knows its protocol; leave {field} out", manifest
            )
    if fields.get("name", name) != name:
        what = msgspec.json.encode(fields["name"]).decode()
        raise _error(
            f"manifest: name is {what}, and its folder is {name!r}; make them equal, or leave it out", manifest
        )
    if manifest.workers != 1:
        raise _error("manifest: workers: a Copilot extension has one process; leave it out", manifest)


def _look_at_program(folder: Path, manifest: Manifest) -> None:
    path = folder / PROGRAM
    try:
        found = os.stat(path)
    except OSError as error:
        if path.is_symlink():
            fault = f"{PROGRAM} is a link to {os.readlink(path)}, which leads to no file; correct or remove the link"
        elif isinstance(error, FileNotFoundError):
            fault = f"no {PROGRAM} in it; without one it is no Copilot extension"
        else:
            fault = f"{PROGRAM} cannot be read: {error.strerror}"
        raise _error(fault, manifest) from None
    if stat.S_ISDIR(found.st_mode):
        raise _error(f"{PROGRAM} is a folder; it must be a file, the program", manifest)
    if not stat.S_ISREG(found.st_mode):
        raise _error(f"{PROGRAM} is no file that can be run", manifest)
    if not found.st_size:
        raise _error(f"{PROGRAM} is empty; write the extension, or remove the folder", manifest)
    if not os.access(path, os.R_OK):
        raise _error(f"{PROGRAM} cannot be read; chmod u+r {shlex.quote(str(path))}", manifest)


def _error(line: str, manifest: Manifest) -> ManifestError:
    error = ManifestError(line)
    error.may_be_needed = manifest.is_enabled and (manifest.required or manifest.on_failure == "deny")
    return error
