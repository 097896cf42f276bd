"""The registrations of an extension's last start, in a file: an extension that sleeps is known by them.

There is a file for each key of a start: terminals whose environments differ do not drive out one another's. A file is
the user's own, and only he may write it: it decides what a guard is asked about. A file that is damaged, or
that others may write, does not count, and the extension is started. The first line has the key of the start and a hash
of the rest.
"""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

import msgspec

from supervisor.home.safe_files import open_regular, replacement
from supervisor.home.zot_home import private_folder
from supervisor.registry.registration import Command, Tool  # noqa: TC001  (msgspec looks at the annotations)
from wire import frames  # noqa: TC001  (as above)
from wire.lenient_json import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.registry.worker_registry import Registry

SIZE_LIMIT = 8 * 2**20
"""Maximum size of a file in bytes. The texts of all registrations together have at most 2 MiB."""
KEY_SHOWN = 12
"""Number of characters of a key in the name of its file."""
FILES_LIMIT = 500
"""Maximum number of files; beyond it the oldest go."""


class Kept(msgspec.Struct, frozen=True):
    """All registrations of one worker."""

    tools: list[Tool]
    commands: dict[str, Command]
    """By the keys of their names."""
    observes: list[str]
    guards: list[str]
    claimed: list[str]
    instructions: str
    hello: frames.Hello | None = None

    @classmethod
    def of(cls, registry: Registry, hello: frames.Hello | None) -> Kept:
        return cls(
            list(registry.tools.values()), dict(registry.commands), sorted(registry.observes), sorted(registry.guards),
            sorted(registry.claimed), registry.instructions, hello,
        )  # fmt: skip

    def fill(self, registry: Registry) -> Registry:
        """Makes these the registrations of an empty registry, and returns it."""
        registry.tools = {tool.name: tool for tool in self.tools}
        registry.commands = dict(self.commands)
        registry.observes, registry.guards = set(self.observes), set(self.guards)
        registry.claimed = frozenset(self.claimed)
        registry.instructions = self.instructions
        return registry


class _Head(msgspec.Struct, frozen=True):
    key: str
    digest: str


class KeptRegistrations:
    """The files of one extension. `name` is the beginning of their names, `remark` gets a line for the log."""

    def __init__(self, folder: Path, name: str, remark: Callable[[str], None]) -> None:
        self._folder = folder
        self._name = name
        self._remark = remark

    def path(self, key: str) -> Path:
        """The file of the start with this key."""
        return self._folder / f"{self._name}-{key[:KEY_SHOWN]}.json"

    def read(self, key: str) -> Kept | None:
        """Returns the registrations of the last start with this key; None without one."""
        path = self.path(key)
        try:
            text = _text_of(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._ignore(f"{path} cannot be read: {error.strerror}")
            return None
        if text is None:
            self._ignore(f"{path} may be written by others")
            return None
        head, _, body = text.partition(b"\n")
        try:
            known = msgspec.json.decode(head, type=_Head)
            if (known.key, known.digest) == (key, _digest(body)):
                return msgspec.json.decode(body, type=Kept)
        except UNREADABLE:
            pass
        self._ignore(f"{path} is damaged")
        return None

    def _ignore(self, why: str) -> None:
        self._remark(f"the registrations of its last start do not count: {why}")

    def write(self, key: str, kept: Kept) -> None:
        """Keeps the registrations of a start. If that fails, a line says so, and the next start is a real one."""
        try:
            body = msgspec.json.encode(kept)
            if len(body) > SIZE_LIMIT // 2 or msgspec.json.decode(body, type=Kept) != kept:
                self._remark("its registrations are not kept: JSON cannot hold them")
                return
            head = msgspec.json.encode(_Head(key, _digest(body)))
            folder, path = private_folder(self._folder), self.path(key)
            own = folder / f".{path.name}.{os.getpid()}"  # hosts may write at the same time
            with replacement(path, is_durable=False, sibling=own) as file:
                file.write(head + b"\n" + body)
            _remove_oldest(folder)
        except OSError as error:
            self._remark(f"its registrations are not kept: {self.path(key)}: {error.strerror}")
        except (ValueError, OverflowError, RecursionError) as error:
            self._remark(f"its registrations are not kept: {error}")


def _text_of(path: Path) -> bytes | None:
    """The content of a file; None if others may write it. Raises `OSError`."""
    fd = open_regular(path, os.O_RDONLY | os.O_NOFOLLOW)
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o022:
            return None
        return file.read(SIZE_LIMIT + 1)


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _remove_oldest(folder: Path) -> None:
    """Removes the oldest files beyond `FILES_LIMIT`. Raises `OSError`."""
    with os.scandir(folder) as entries:
        files = [entry for entry in entries if entry.is_file(follow_symlinks=False)]
    if len(files) > FILES_LIMIT:
        by_age = sorted((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in files)
        for _, path in by_age[: len(files) - FILES_LIMIT]:
            os.unlink(path)
