"""Finds the extensions that are named with `--ext`, those of the project, and those of the user; and the MCP servers of
`--mcp-config`, of the project's `.mcp.json` and of the user's `mcp.json`."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.discovery.staging_names import is_staging
from supervisor.discovery.steps import finish
from supervisor.home.small_file import read_file
from wire.dialects.table import dialect_named
from wire.manifest import FILE, Manifest, ManifestError, parse_manifest
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from supervisor.discovery.seal import Seal
    from supervisor.discovery.steps import Steps
    from supervisor.loop.link import Link
    from wire.settings.mcp_file import McpEntry

MANIFEST = FILE


class Scope(IntEnum):
    """Where an extension comes from, in order of precedence."""

    EXPLICIT = 0
    PROGRAM = 1
    """It lives in the program that embeds this host."""
    PROJECT = 2
    GLOBAL = 3

    @property
    def label(self) -> str:
        names = {Scope.EXPLICIT: "--ext", Scope.PROGRAM: "program", Scope.PROJECT: "project", Scope.GLOBAL: "global"}
        return names[self]


class Found(msgspec.Struct, frozen=True):
    """An extension that can be started."""

    folder: Path
    manifest: Manifest
    scope: Scope
    position: int = 0
    """Order of the `--ext` options, or of the arrival from the program; 0 in the other scopes."""
    seal: Seal | None = None
    """The files as they were hashed; None if the extension needs no trust."""
    link: Link | None = None
    """The connection to an extension of the scope PROGRAM; None in the other scopes. `folder` is then that of the
    host."""

    options: Mapping[str, Any] = {}
    """Settings that only its dialect knows."""
    entry: Path | None = None
    """The file of MCP servers that it is from; None if it has a manifest of its own. `folder` is then the one that it
    runs in, which other programs use too."""
    server: McpEntry | None = None
    """Its entry in that file."""
    workspace: Path | None = None
    """With `entry`: the project's folder."""
    command: tuple[str, ...] = ()
    """With `entry`: the program and its arguments, expanded. The manifest has them as they are written, and so has all
    that is shown: an expanded word may be a secret."""
    set_env: Mapping[str, str] = {}
    """Variables that it gets besides those of the host's environment, expanded."""

    @property
    def place(self) -> Path:
        """What it is known by in records: its folder; of an MCP server the path of its file with its name behind it,
        where no file can be."""
        return self.folder if self.entry is None else self.entry / self.manifest.name

    @property
    def where(self) -> str:
        """Where people find it."""
        return str(self.folder if self.entry is None else self.entry)

    @property
    def written(self) -> list[str]:
        """The program and its arguments as they are written."""
        return [self.manifest.exec, *(self.manifest.args or ())]

    @property
    def is_hashed(self) -> bool:
        """Whether this manifest, with the files beside it, was found to be what the user has trusted."""
        return self.seal is not None and self.seal.manifest is self.manifest

    @property
    def change(self) -> str:
        """Says that a file has changed since it was hashed; "" if none has, or if none was hashed."""
        path = "" if self.seal is None else self.seal.first_change()
        return f"{path} has changed since it was checked; nothing may write there while it starts" if path else ""

    @property
    def argv(self) -> list[str]:
        return [self.program, *(self.command[1:] if self.command else self.manifest.args or ())]

    @property
    def program(self) -> str:
        """The program of the manifest's `exec`: an absolute path as it is; a name with a slash relative to the
        extension's folder; any other name from PATH, for an MCP server that of its `env` if it has one."""
        exec_ = self.command[0] if self.command else self.manifest.exec
        if "/" not in exec_ and exec_ not in (".", ".."):
            return shutil.which(exec_, path=self.set_env.get("PATH")) or exec_
        return str(self.folder / exec_)

    @property
    def is_of_a_project(self) -> bool:
        """Whether the extension lies in a project's `.zot/extensions`, even if it was named with `--ext`."""
        if self.scope is not Scope.EXPLICIT or self.entry is not None:
            return self.scope is Scope.PROJECT
        parent = self.folder.absolute().parent
        return (parent.name, parent.parent.name) == ("extensions", ".zot")

    @property
    def default_hello_s(self) -> float:
        """Seconds to wait for the hello if the manifest sets no time."""
        dialect = dialect_named(self.manifest.dialect)
        return dialect.launcher_hello_s if Path(self.program).name in dialect.launchers else dialect.hello_s

    @property
    def order(self) -> tuple[int, int, int, str]:
        """The sort key of the order in which guards are asked: priority, then scope, then position, then name."""
        return (-self.manifest.priority, self.scope, self.position, self.manifest.name)


class Skipped(msgspec.Struct, frozen=True):
    """A folder whose extension is not started, and why."""

    folder: Path
    reason: str
    is_error: bool = True
    """Whether the user must be told. False if the user wants the extension skipped."""
    untrusted: Found | None = None
    """The extension that would be started if the user trusted it."""
    is_named: bool = False
    """Whether the folder was named with `--ext`."""
    may_be_needed: bool = False
    """Whether its manifest, which is faulty, may be that of a required extension or of a guard whose failure means
    deny."""
    entry: Path | None = None
    """The file of MCP servers that this is about. `folder` is then that file, or its path with the server's name behind
    it; `reason` names the file."""

    @property
    def why_needed(self) -> str:
        """Why nothing may run without it, with the reason why it is not started; empty if the others may run."""
        if self.untrusted is not None:
            return f"extension {self.name} is required and {self.reason}" if self.untrusted.manifest.required else ""
        if not self.is_error or not (self.is_named or self.may_be_needed):
            return ""
        why = (
            f"was named with {'--ext' if self.entry is None else '--mcp-config'}"
            if self.is_named
            else "may be required, or a guard whose failure means deny"
        )
        what = "extension" if self.entry is None else "file" if self.entry == self.folder else "MCP server"
        return f"{what} {self.name} {why}, and cannot be loaded: {self.reason}"

    @property
    def name(self) -> str:
        return self.folder.name if self.untrusted is None else self.untrusted.manifest.name

    @property
    def line(self) -> str:
        """The notice for the user."""
        if self.untrusted is not None:
            return f"{'extension' if self.entry is None else 'MCP server'} {self.name} of this project is {self.reason}"
        if self.entry is None:
            return f"extension load: {self.folder}: {self.reason}"
        return f"MCP servers: {self.reason}" if self.entry == self.folder else f"MCP server {self.name}: {self.reason}"


class Discovery(msgspec.Struct, frozen=True):
    """The result of `discover`."""

    found: tuple[Found, ...]
    """Sorted in the order in which guards are asked."""
    skipped: tuple[Skipped, ...]


Admit = Callable[[Found], "Steps[Found | str]"]
"""Returns the extension of a project as it may be started, or why it may not."""


class McpFiles(msgspec.Struct, frozen=True):
    """Where MCP servers are described."""

    workspace: Path
    """The project's folder."""
    named: tuple[str, ...] = ()
    """The files of `--mcp-config`."""


def discover(
    explicit: Iterable[str],
    project: Path | None,
    home: Path | None,
    admit: Admit | None = None,
    mcp: McpFiles | None = None,
) -> Discovery:
    """`discovering` at once."""
    return finish(discovering(explicit, project, home, admit, mcp))


def discovering(
    explicit: Iterable[str],
    project: Path | None,
    home: Path | None,
    admit: Admit | None = None,
    mcp: McpFiles | None = None,
) -> Steps[Discovery]:
    """Reads the manifests of the explicit folders, the files in `mcp.named`, then `PROJECT/.zot/extensions/*` and
    `PROJECT/.mcp.json`, then `HOME/extensions/*` and `HOME/mcp.json`.

    Symbolic links to folders count. Of several extensions with one name the first in that order wins. A disabled,
    broken or untrusted extension hides no other; in zot it hides a global extension with the same folder name. A
    disabled extension that is named by `--ext` starts. Without `admit` all extensions of the project are trusted.
    Without `mcp` no server of a file is found.
    """
    found: dict[str, Found] = {}
    skipped: list[Skipped] = []
    for each in _candidates(explicit, project, home, mcp):
        if isinstance(each, Skipped):
            skipped.append(each)
            continue
        manifest, entry = each.manifest, each.entry
        if not manifest.is_enabled and (each.scope is not Scope.EXPLICIT or entry is not None):
            skipped.append(Skipped(each.place, "disabled", is_error=False, entry=entry))
            continue
        if (winner := found.get(manifest.name)) is not None:
            reason = f"the name {manifest.name!r} is taken by {winner.where} ({winner.scope.label})"
            if entry is not None:
                reason = f"{entry}: {reason}"
            skipped.append(Skipped(each.place, reason, is_error=winner.scope is each.scope, entry=entry))
            continue
        extension: Found | str = each
        if entry is not None:
            from supervisor.discovery.mcp.servers import expanded

            extension = expanded(each, os.environ)
            if isinstance(extension, str):
                needed = manifest.required
                skipped.append(Skipped(each.place, f"{entry}: {extension}", may_be_needed=needed, entry=entry))
                continue
        assert not isinstance(extension, str)
        admitted = extension if admit is None or each.scope is not Scope.PROJECT else (yield from admit(extension))
        if isinstance(admitted, str):
            why = untrusted_reason(manifest.name, admitted)
            skipped.append(Skipped(each.place, why, untrusted=extension, entry=entry))
        else:
            found[manifest.name] = admitted
    return Discovery(tuple(sorted(found.values(), key=lambda extension: extension.order)), tuple(skipped))


def _candidates(
    explicit: Iterable[str], project: Path | None, home: Path | None, mcp: McpFiles | None
) -> Iterator[Found | Skipped]:
    """All extensions, in the order in which they take their names, and what cannot be read."""
    folders_named = tuple(explicit)
    for position, path in enumerate(folders_named):
        yield _look_at(Path(path).expanduser().absolute(), Scope.EXPLICIT, position)
    for position, path in enumerate(mcp.named if mcp is not None else (), len(folders_named)):
        yield from servers_in(Path(path).expanduser().absolute(), Scope.EXPLICIT, mcp, position)
    unlisted: list[Skipped] = []
    folders = installed(project, home, unlisted)
    yield from unlisted
    for wanted, parent, name in ((Scope.PROJECT, project, ".mcp.json"), (Scope.GLOBAL, home, "mcp.json")):
        yield from (_look_at(folder, scope) for folder, scope in folders if scope is wanted)
        if parent is not None and mcp is not None and os.path.lexists(parent / name):
            yield from servers_in(parent / name, wanted, mcp)


def _look_at(folder: Path, scope: Scope, position: int = 0) -> Found | Skipped:
    try:
        return Found(folder, read_manifest(folder), scope, position)
    except ManifestError as error:
        is_named = scope is Scope.EXPLICIT
        return Skipped(folder, str(error), is_named=is_named, may_be_needed=error.may_be_needed)


def servers_in(file: Path, scope: Scope, mcp: McpFiles | None, position: int = 0) -> list[Found | Skipped]:
    """The MCP servers of a file, not expanded, and what of it cannot be used."""
    from supervisor.discovery.mcp.servers import read_servers  # most runs have no such file

    return read_servers(file, scope, (mcp or McpFiles(Path.cwd())).workspace, position)


def installed(project: Path | None, home: Path | None, skipped: list[Skipped]) -> list[tuple[Path, Scope]]:
    """Returns the folders in `PROJECT/.zot/extensions`, then those in `HOME/extensions`, each sorted by name. Does not
    read their content. A parent that cannot be listed is added to `skipped`. If both parents are one folder, its scope
    is GLOBAL."""
    folders: list[tuple[Path, Scope]] = []
    if project is not None and not (home is not None and _is_same(project / ".zot", home)):
        folders += [(folder, Scope.PROJECT) for folder in _folders(project / ".zot" / "extensions", skipped)]
    if home is not None:
        folders += [(folder, Scope.GLOBAL) for folder in _folders(home / "extensions", skipped)]
    return folders


def untrusted_reason(name: str, why: str) -> str:
    """Says in one line that an extension is not trusted, why, and what to do."""
    return f"not trusted ({why}): not started; zot ext trust {shlex.quote(name)}, or --trust-project"


def broken_link(folder: Path) -> str:
    """Says of a symbolic link that leads nowhere what is wrong and what to do."""
    try:
        target = os.readlink(folder)
    except OSError:
        target = "?"
    remove = f"zot ext remove {shlex.quote(folder.name)}"
    return f"is a link to {target}, which does not exist; put the folder back, or {remove}"


def read_manifest(folder: Path) -> Manifest:
    """Reads the manifest in the folder. Raises `ManifestError`, with one line that names the fault."""
    path = folder / MANIFEST
    if str(folder) != valid_text(str(folder)):
        raise ManifestError("its path is not valid UTF-8, and the extension could not be told of it")
    try:
        return parse_manifest(read_file(path))
    except FileNotFoundError:
        if folder.is_symlink() and not folder.exists():
            raise ManifestError(broken_link(folder)) from None
        hint = "no such folder" if not folder.is_dir() else f"no {MANIFEST} in it"
        raise ManifestError(f"read manifest: {hint}") from None
    except OSError as error:
        failed = ManifestError(f"read manifest: {error.strerror}")
        failed.may_be_needed = True
        raise failed from None


def _is_same(first: Path, second: Path) -> bool:
    try:
        return os.path.samefile(first, second)
    except OSError:
        return False


def _folders(parent: Path, skipped: list[Skipped]) -> list[Path]:
    found, broken = [], []
    try:
        with os.scandir(parent) as entries:
            for entry in entries:
                # entry.is_dir() would raise for a link that leads to itself, and all other folders would be lost.
                if os.path.isdir(entry.path) and not is_staging(entry.name):
                    found.append(parent / entry.name)
                elif entry.is_symlink() and not os.path.exists(entry.path):
                    broken.append(parent / entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        skipped.append(Skipped(parent, f"cannot be read: {error.strerror}"))
        return []
    skipped += [Skipped(folder, broken_link(folder)) for folder in sorted(broken)]
    return sorted(found)
