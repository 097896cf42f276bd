"""Writes a new Copilot extension that works: one tool, and comments that show the place of everything else.

A model may ask for it, so this follows no link on the way to its folder, and changes no existing file.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal

from supervisor.home.copilot_folders import OF_ZOT, PROGRAM, copilot_folder_of
from supervisor.home.safe_files import is_staging, write_all
from supervisor.home.zot_home import private_folder

if TYPE_CHECKING:
    from pathlib import Path

Location = Literal["project", "user"]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""Stricter than a manifest: the name is a folder, a word of commands, and a part of the name of a tool."""
NAME_RULE = "1 to 64 letters, digits, '-' or '_', the first a letter or a digit"
NOT_EXTENSIONS = frozenset({"node_modules"})
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SKELETON = """\
// {name}: an extension for the Copilot CLI and for zot.
// Its process says on stdout only what the SDK sends; session.log() and console.error() are for people.
import {{ joinSession }} from "@github/copilot-sdk/extension";

const session = await joinSession({{
  tools: [
    {{
      name: "{tool}_greet", // no other extension may have this name
      description: "Greet somebody by name.",
      parameters: {{
        type: "object",
        properties: {{ who: {{ type: "string", description: "Whom to greet." }} }},
        required: ["who"],
      }},
      // The model reads what is returned. {{ textResultForLlm, resultType: "failure" }} says that it did not work.
      handler: async ({{ who }}) => `Hello, ${{who}}!`,
    }},
  ],
  // One function each; what it does not want to decide it leaves out by returning nothing:
  // onSessionStart, onUserPromptSubmitted, onPreToolUse, onPostToolUse, onErrorOccurred, onSessionEnd
  hooks: {{}},
}});

await session.log("{name} is ready", {{ ephemeral: true }});
"""


class ScaffoldError(Exception):
    """Raised if nothing was written. The text is one line: the fault and what to do. `is_usage` is True if another
    name or another place would work."""

    def __init__(self, text: str, *, is_usage: bool = False) -> None:
        super().__init__(text)
        self.is_usage = is_usage


def scaffold(name: str, location: Location, project: Path, home: Path) -> Path:
    """Makes the extension below the root of the project's repository, or in `$ZOT_HOME`, which is `home`. Returns its
    program. Raises `ScaffoldError`."""
    check_name(name)
    folder = copilot_folder_of(project) if location == "project" else home / OF_ZOT
    depth = 2 if location == "project" else 1
    root = folder.parents[depth - 1]
    if location == "user":
        try:
            private_folder(root)
        except OSError as error:
            raise ScaffoldError(f"cannot make {root}: {error.strerror}") from None
    return write_into(root, folder.parts[-depth:], name, mode=0o777 if location == "project" else 0o700)


def write_into(root: Path, inside: tuple[str, ...], name: str, *, mode: int = 0o777) -> Path:
    """Makes the folder `root/inside/name` with the program in it, and missing folders between. `root` may be a link,
    nothing below it. Returns the program. Raises `ScaffoldError`; then nothing new is left."""
    check_name(name)
    shown = root
    with ExitStack() as opened, ExitStack() as undo:
        try:
            if not os.path.isdir(root):
                raise ScaffoldError(f"{root}: no such folder", is_usage=True)
            at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            opened.callback(os.close, at)
            for part in inside:
                shown /= part
                _make(part, at, mode, undo)
                at = _enter(part, at, shown)
                opened.callback(os.close, at)
            shown /= name
            os.mkdir(name, mode, dir_fd=at)
            undo.callback(_remove, name, at)
            at = _enter(name, at, shown)
            opened.callback(os.close, at)
            _write(at, skeleton(name).encode(), undo)
        except FileExistsError:
            raise ScaffoldError(
                f"{shown} is there already, and was left as it is; choose another name, or edit what is there",
                is_usage=True,
            ) from None
        except OSError as error:
            raise ScaffoldError(f"cannot write {shown}: {error.strerror}") from None
        undo.pop_all()
    return shown / PROGRAM


def check_name(name: str) -> None:
    """Raises `ScaffoldError` if this cannot be the name of an extension."""
    if not NAME.fullmatch(name) or is_staging(name) or name in NOT_EXTENSIONS:
        raise ScaffoldError(f"{name[:80]!r} cannot be the name of an extension: {NAME_RULE}", is_usage=True)


def skeleton(name: str) -> str:
    """The program of a new extension."""
    return _SKELETON.format(name=name, tool=tool_prefix(name))


def tool_prefix(name: str) -> str:
    """The name as a part of the names of tools."""
    return name.replace("-", "_")


def _make(part: str, at: int, mode: int, undo: ExitStack) -> None:
    try:
        os.mkdir(part, mode, dir_fd=at)
    except FileExistsError:
        return
    undo.callback(_remove, part, at)


def _enter(part: str, at: int, shown: Path) -> int:
    found = os.lstat(part, dir_fd=at)
    if stat.S_ISLNK(found.st_mode):
        raise ScaffoldError(f"{shown} is a link: nothing is written through it; put a folder in its place")
    if not stat.S_ISDIR(found.st_mode):
        raise ScaffoldError(f"{shown} is no folder; move it away")
    return os.open(part, _OPEN, dir_fd=at)  # fails if a link has taken its place since


def _write(at: int, text: bytes, undo: ExitStack) -> None:
    fd = os.open(PROGRAM, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=at)
    undo.callback(_unlink, at)
    try:
        write_all(fd, text)
    finally:
        os.close(fd)


def _remove(part: str, at: int) -> None:
    try:
        os.rmdir(part, dir_fd=at)
    except OSError:
        return  # somebody else has put something there


def _unlink(at: int) -> None:
    try:
        os.unlink(PROGRAM, dir_fd=at)
    except OSError:
        return
