"""Reads and writes scripts: conversations as JSON Lines, in the order of the frames.

A line is `{"host": frame}` or `{"extension": frame}`, by the side that says the frame. Any line may have a `note`, or
only a `note`. The first line may be `{"about": {...}}` with four members. `title` is the title. `ignore` lists types
of frames that may come at any time or not at all. `exit` is the expected exit status (default 0). `project` has the
files of the project, or names a folder beside the script with them; by default the project is empty.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from supervisor.harness.comparison import ScriptPaths
from supervisor.harness.messages import hello_ack
from supervisor.home.safe_files import read_file
from wire import frames
from wire.field_errors import explain
from wire.lenient_json import UNREADABLE, reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Project = str | Mapping[str, str] | None


class FixtureError(ValueError):
    """Raised if the files cannot be written; the text names the path and the rule."""


def check(project: Project, beside: Path) -> None:
    """Raises `FixtureError` for a path that leaves the project, and for a folder that is not beside the script."""
    if isinstance(project, str):
        _folder(project, beside)
        return
    paths = {_within(name): name for name in project or ()}
    for path, name in paths.items():
        if path is not None and (above := next((paths[part] for part in path.parents if part in paths), None)):
            raise FixtureError(f"project: {above!r} cannot be a file and the folder of {name!r}")


def lay(project: Project, beside: Path, target: Path) -> None:
    """Writes the files into the folder `target`. Raises `FixtureError`, and `OSError` if a file cannot be written."""
    if isinstance(project, str):
        try:
            shutil.copytree(_folder(project, beside), target, symlinks=True, dirs_exist_ok=True)
        except shutil.Error as error:
            source, _, reason = error.args[0][0]
            raise FixtureError(f"project: {source} cannot be copied: {reason}") from None
        return
    for name, text in (project or {}).items():
        file = target / _within(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")


def _within(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name or name.endswith("/"):
        raise FixtureError(f"project: {name!r} is not a file within the project; name one like a/b.txt, without '..'")
    return path


def _folder(name: str, beside: Path) -> Path:
    root = Path(os.path.realpath(beside))
    folder = Path(os.path.realpath(root / name)) if "\0" not in name else root
    if folder == root or not folder.is_relative_to(root):
        raise FixtureError(f"project: {name!r} is not a folder beside the script; name one like shop, without '..'")
    if not folder.is_dir():
        raise FixtureError(f"project: there is no folder {name!r} beside the script")
    return folder


MEMBERS = ("about", "extension", "host", "note")
NEAR = 0.75
"""Minimum likeness (0 to 1) of an unknown type to a known type to count as a typing error. A less similar type is
allowed: readers of the protocol ignore unknown frames."""


class Side(Enum):
    """The side that says a frame."""

    HOST = "host"
    EXTENSION = "extension"


@dataclass(frozen=True)
class ScriptStep:
    """One line of a script: a frame that one side says."""

    side: Side
    frame: dict[str, Any]
    line: int = 0
    """Line number in the file, from 1."""


class ScriptHeader(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first line of a script. Unknown members are ignored."""

    title: str = ""
    ignore: tuple[str, ...] = ()
    exit: Annotated[int, msgspec.Meta(ge=0, le=255)] = 0
    project: str | dict[str, str] | None = None
    """The text of each file by its path, or the name of a folder beside the script."""


@dataclass(frozen=True)
class Script:
    """A script: its steps in order, and the members of its first line."""

    name: str
    steps: tuple[ScriptStep, ...]
    about: ScriptHeader = field(default_factory=ScriptHeader)

    @property
    def folder(self) -> Path:
        """The folder of its file."""
        return Path(self.name).parent

    @property
    def has_handshake(self) -> bool:
        """Whether the script contains the handshake. If not, the harness shakes hands by itself, and the script begins
        when the extension is ready."""
        return any(step.frame["type"] in ("hello", "hello_ack") for step in self.steps)

    @property
    def has_shutdown(self) -> bool:
        return any(step.side is Side.HOST and step.frame["type"] == "shutdown" for step in self.steps)


class ScriptError(ValueError):
    """A script cannot be read. The text names the file, the line, and the fault."""


def read_script(path: Path) -> Script:
    """Raises `ScriptError`."""
    try:
        text = read_file(path)
    except OSError as error:
        raise ScriptError(f"{path}: cannot be read: {error.strerror}") from None
    return parse_script(text, str(path))


def parse_script(text: bytes, name: str) -> Script:
    """Raises `ScriptError`."""
    steps: list[ScriptStep] = []
    about = ScriptHeader()
    is_first = True
    for number, line in enumerate(text.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            found = _parse_line(line, number)
            if isinstance(found, ScriptHeader):
                if not is_first:
                    raise ScriptError('"about" must be the first line')
                check(found.project, Path(name).parent)
                about = found
            elif found is not None:
                steps.append(found)
        except (ScriptError, FixtureError) as error:
            raise ScriptError(f"{name}, line {number}: {error}") from None
        is_first = False
    return Script(name, tuple(steps), about)


def _parse_line(line: bytes, number: int) -> ScriptStep | ScriptHeader | None:
    try:
        entry = msgspec.json.decode(line)
    except UNREADABLE as error:
        raise ScriptError(f"not JSON: {reason(error)}") from None
    if not isinstance(entry, dict):
        raise ScriptError('must be an object: {"host": {…}} or {"extension": {…}}')
    for member in entry.keys() - set(MEMBERS):
        raise ScriptError(f"no such member: {member!r}; {_near(member, MEMBERS)}")
    said = entry.keys() - {"note"}
    if len(said) > 1:
        raise ScriptError(f"has {' and '.join(sorted(said))}; a line can have only one of them")
    if "about" in entry:
        return _parse_about(entry["about"])
    for side in Side:
        if side.value in entry:
            return ScriptStep(side, _check_frame(side, entry[side.value]), number)
    return None


def _parse_about(value: Any) -> ScriptHeader:
    try:
        return msgspec.convert(value, ScriptHeader)
    except msgspec.ValidationError as error:
        raise ScriptError(f"about: {explain(ScriptHeader, str(error))}") from None


def _check_frame(side: Side, frame: Any) -> dict[str, Any]:
    """Returns the frame if it is valid. A host's frame is validated in full, because it is sent as it is. An expected
    frame may leave members out."""
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        raise ScriptError(f'{side.value}: a frame is an object with a "type"')
    kind = frame["type"]
    known = frames.HOST_TYPES if side is Side.HOST else frames.EXTENSION_TYPES
    if kind not in known:
        other = frames.EXTENSION_TYPES if side is Side.HOST else frames.HOST_TYPES
        if kind in other:
            whose = "the extension" if side is Side.HOST else "the host"
            raise ScriptError(f"{side.value}: {kind} is a frame of {whose}'s")
        if near := get_close_matches(kind, sorted(known), n=1, cutoff=NEAR):
            raise ScriptError(f"{side.value}: no such frame: {kind!r}; did you mean {near[0]!r}?")
    elif side is Side.HOST:
        whole = hello_ack(ScriptPaths("", "", ""), frame) if kind == "hello_ack" else frame
        judged = frames.decode_from_host(msgspec.json.encode(whole))
        if isinstance(judged, frames.Malformed):
            raise ScriptError(f"{side.value}: {judged.reason}")
    return frame


def _near(name: str, known: Iterable[str]) -> str:
    options = list(known)
    near = get_close_matches(name, options, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(options)}"


def write_line(side: Side, frame: dict[str, Any], places: ScriptPaths | None = None) -> bytes:
    """Returns one line of a script, LF included. With `places`, names replace the paths."""
    return msgspec.json.encode({side.value: frame if places is None else places.hide(frame)}) + b"\n"
