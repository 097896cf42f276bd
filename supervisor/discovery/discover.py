"""Finds the extensions of `--ext`, of the project and of the user, with those written for the Copilot CLI; and the MCP
servers of `--mcp-config`, of the project's `.mcp.json` and of the user's `mcp.json`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec.structs import replace

from supervisor.discovery.found_extension import FoundExtension, Scope, unread_kind
from supervisor.discovery.kind import ExtensionKind
from supervisor.discovery.skipped_extension import SkipCause, SkippedExtension, SkipReason
from supervisor.discovery.steps import finish
from supervisor.home.copilot_folders import PROGRAM, copilot_folder_of, copilot_folders_of_user, is_for_copilot
from supervisor.home.safe_files import is_staging, read_file
from wire.manifest import FILE, THEMES, Manifest, ManifestError, parse_manifest
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from supervisor.discovery.found_extension import ProjectCopy
    from supervisor.discovery.steps import Steps

MANIFEST = FILE
DISABLED = SkipReason("disabled", SkipCause.DISABLED)
PROJECT_FILE = ".mcp.json"
"""The MCP servers of a project, in its folder."""
USER_FILE = "mcp.json"
"""The MCP servers of the user, in `$ZOT_HOME`."""


class Discovery(msgspec.Struct, frozen=True):
    """The result of `discover`."""

    found: tuple[FoundExtension, ...]
    """Sorted in the order in which guards are asked."""
    skipped: tuple[SkippedExtension, ...]
    without_program: tuple[FoundExtension, ...] = ()
    """Extensions with skills or a theme, and no program. They may be used, and there is nothing to start."""

    @property
    def usable(self) -> tuple[FoundExtension, ...]:
        """All extensions whose skills count, in the order of their precedence."""
        return tuple(
            sorted((*self.found, *self.without_program), key=lambda each: (each.scope, each.position, each.folder.name))
        )


class Admit(Protocol):
    """Decides which extensions may be started."""

    def __call__(self, found: FoundExtension) -> Steps[FoundExtension | SkipReason]:
        """Returns an extension with its seal if it needs trust; or why it may not be started."""
        ...

    def knows(self, folder: Path) -> bool:
        """Whether the user has ever trusted content of a folder, even if it has changed since."""
        ...


class McpFiles(msgspec.Struct, frozen=True):
    """The files that describe MCP servers."""

    workspace: Path
    """The project's folder."""
    named: tuple[str, ...] = ()
    """The files of `--mcp-config`."""
    only_named: bool = False
    """Whether only these files count."""


def discover(
    explicit: Iterable[str],
    project: Path | None,
    home: Path | None,
    admit: Admit | None = None,
    mcp: McpFiles | None = None,
    sdks: Path | None = None,
) -> Discovery:
    """`discovery_steps` at once."""
    return finish(discovery_steps(explicit, project, home, admit, mcp, sdks))


def discovery_steps(
    explicit: Iterable[str],
    project: Path | None,
    home: Path | None,
    admit: Admit | None = None,
    mcp: McpFiles | None = None,
    sdks: Path | None = None,
) -> Steps[Discovery]:
    """Reads the manifests of the explicit folders, the files in `mcp.named`, then `PROJECT/.zot/extensions/*`, the
    Copilot extensions of the project and `PROJECT/.mcp.json`, then `HOME/extensions/*`, the Copilot extensions of the
    user and `HOME/mcp.json`.

    Symbolic links to folders count. Of several extensions with one name the first in that order wins. A disabled,
    broken or untrusted extension hides no other; in zot it hides a global extension with the same folder name. A
    disabled extension that is named by `--ext` starts. Without `admit` all extensions are trusted.
    Without `mcp` no server of a file is found. Leaves out a server that is `zot mcp serve` for this project.
    Copilot extensions run in `mcp.workspace`, by default in the project or here. `sdks` is the `$ZOT_HOME` in which
    their SDK may be installed, by default `home`.
    """
    found: dict[str, FoundExtension] = {}
    skipped: list[SkippedExtension] = []
    for each in _candidates(explicit, project, home, mcp):
        if isinstance(each, SkippedExtension):
            is_of_others = admit is not None and _is_of_user(each, home) and not admit.knows(each.folder)
            skipped.append(replace(each, may_be_needed=False, is_of_others=True) if is_of_others else each)
            continue
        manifest, file = each.manifest, each.mcp_file
        if not manifest.is_enabled and (each.scope is not Scope.EXPLICIT or not each.kind.has_folder):
            skipped.append(SkippedExtension(each.place, DISABLED, each.kind, is_error=False, mcp_file=file))
            continue
        if (winner := found.get(manifest.name)) is not None:
            reason = f"the name {manifest.name!r} is taken by {winner.where} ({winner.source})"
            if file is not None:
                reason = f"{file}: {reason}"
            why, is_error = SkipReason(reason, SkipCause.NAME_TAKEN), winner.scope is each.scope
            skipped.append(SkippedExtension(each.place, why, each.kind, is_error=is_error, mcp_file=file))
            continue
        extension, lacks = _to_start(each, mcp, project, sdks or home)
        if isinstance(extension, SkippedExtension):
            skipped.append(extension)
            continue
        admitted = extension if admit is None or not each.needs_trust else (yield from admit(extension))
        if isinstance(admitted, SkipReason):
            why, is_mine = admitted.with_way_out(each), each.scope is Scope.GLOBAL
            is_of_others = is_mine and why.cause is SkipCause.NEVER_SEEN
            skipped.append(
                SkippedExtension(
                    each.place, why, each.kind, untrusted=extension, mcp_file=file, is_of_others=is_of_others
                )
            )
        elif lacks is not None:
            is_named, needed = each.scope is Scope.EXPLICIT, manifest.required or manifest.on_failure == "deny"
            skipped.append(SkippedExtension(each.place, lacks, each.kind, is_named=is_named, may_be_needed=needed))
        else:
            found[manifest.name] = admitted
    in_order = sorted(found.values(), key=lambda extension: extension.order)
    return Discovery(
        tuple(each for each in in_order if not each.manifest.without_program),
        tuple(skipped),
        tuple(each for each in in_order if each.manifest.without_program),
    )


def add_missing(discovery: Discovery, copy: ProjectCopy) -> Discovery:
    """For a run in a copy of a project: adds, as skipped, each enabled extension of the original that is not in the
    copy, or that a run needs and that is not found there, since a link led out of the project or `setup` changed it."""
    original = Path(copy.original)
    taken = {each.manifest.name for each in discovery.usable if each.scope < Scope.PROJECT}
    settled = {each.place for each in discovery.usable}
    agreed = (SkipCause.ITSELF, SkipCause.NAME_TAKEN)
    settled |= {each.folder for each in discovery.skipped if each.why_needed or each.why.cause in agreed}
    skipped = {each.folder: each for each in discovery.skipped if each.folder not in settled}
    for each in _candidates((), original, None, McpFiles(original)):
        if isinstance(each, SkippedExtension) or not each.manifest.is_enabled or each.manifest.name in taken:
            continue
        place = Path(copy.folder, each.place.relative_to(original))
        here, needed = skipped.get(place), each.manifest.required or each.manifest.on_failure == "deny"
        if place in settled or (here is not None and not needed):
            continue
        said = "missing" if here is None else here.why.what
        why = SkipReason(
            f"it is in {copy.original}, and in this copy {said}",
            advice="keep links out of the project and `setup` away from it, or name it with --ext",
        )
        skipped[place] = SkippedExtension(place, why, each.kind, may_be_needed=needed, mcp_file=each.mcp_file)
    settled_too = [each for each in discovery.skipped if each.folder in settled]
    return replace(discovery, skipped=(*settled_too, *skipped.values()))


def _is_of_user(skipped: SkippedExtension, home: Path | None) -> bool:
    """Whether this is in a folder with Copilot extensions of the user, to which other programs write as well."""
    if home is None or skipped.is_named or not skipped.kind.has_folder:
        return False
    return skipped.folder.parent in copilot_folders_of_user(home)


def _to_start(
    found: FoundExtension, mcp: McpFiles | None, project: Path | None, sdks: Path | None
) -> tuple[FoundExtension | SkippedExtension, SkipReason | None]:
    """The extension with all that its start needs, or why it is not started; and what this machine lacks for it."""
    file = found.mcp_file
    if file is None:
        if found.kind is not ExtensionKind.COPILOT:
            return found, None
        from supervisor.discovery.copilot.preparation import prepare

        return prepare(found, mcp.workspace if mcp is not None else project or Path.cwd(), sdks)
    from supervisor.discovery.mcp.servers import REASON, expand_variables, is_itself

    made = expand_variables(found, os.environ)
    if isinstance(made, str):
        needed = found.manifest.required
        return SkippedExtension(
            found.place, SkipReason(f"{file}: {made}"), found.kind, may_be_needed=needed, mcp_file=file
        ), None
    if is_itself(made):
        why = SkipReason(f"{file}: {REASON}", SkipCause.ITSELF)
        return SkippedExtension(found.place, why, found.kind, is_error=False, mcp_file=file), None
    return made, None


def _candidates(
    explicit: Iterable[str], project: Path | None, home: Path | None, mcp: McpFiles | None
) -> Iterator[FoundExtension | SkippedExtension]:
    """All extensions, and the unreadable ones. Of several with one name, the first gets it."""
    folders_named = tuple(explicit)
    for position, path in enumerate(folders_named):
        yield _look_at(Path(path).expanduser().absolute(), Scope.EXPLICIT, position)
    for position, path in enumerate(mcp.named if mcp is not None else (), len(folders_named)):
        assert mcp is not None
        yield from servers_in(Path(path).expanduser().absolute(), Scope.EXPLICIT, mcp.workspace, position)
    unlisted: list[SkippedExtension] = []
    folders = installed_folders(project, home, unlisted)
    yield from unlisted
    for wanted, parent, name in ((Scope.PROJECT, project, PROJECT_FILE), (Scope.GLOBAL, home, USER_FILE)):
        yield from (_look_at(folder, scope) for folder, scope in folders if scope is wanted)
        if parent is not None and mcp is not None and not mcp.only_named and os.path.lexists(parent / name):
            yield from servers_in(parent / name, wanted, mcp.workspace)


def _look_at(folder: Path, scope: Scope, position: int = 0) -> FoundExtension | SkippedExtension:
    try:
        return FoundExtension(folder, read_manifest(folder), scope, position)
    except ManifestError as error:
        kind, is_named = unread_kind(folder), scope is Scope.EXPLICIT
        return SkippedExtension(
            folder, SkipReason(str(error)), kind, is_named=is_named, may_be_needed=error.may_be_needed
        )


def mcp_file(scope: Scope, project: Path, home: Path) -> Path:
    """The file with the MCP servers of the project, or with those of the user."""
    return project / PROJECT_FILE if scope is Scope.PROJECT else home / USER_FILE


def servers_of(scope: Scope, project: Path, home: Path) -> list[FoundExtension | SkippedExtension]:
    """The MCP servers of the project, or those of the user, as in `servers_in`; none if there is no such file."""
    file = mcp_file(scope, project, home)
    return servers_in(file, scope, project) if os.path.lexists(file) else []


def servers_in(file: Path, scope: Scope, workspace: Path, position: int = 0) -> list[FoundExtension | SkippedExtension]:
    """The MCP servers of a file, not expanded, and its entries that cannot be used."""
    try:
        from supervisor.discovery.mcp.servers import read_servers  # most runs have no such file

        return read_servers(file, scope, workspace, position)
    except (ImportError, OSError) as error:  # in a reload there may be no descriptor
        return [
            SkippedExtension(
                file, SkipReason(f"{file}: cannot load what it needs: {error}"), ExtensionKind.MCP_FILE, mcp_file=file
            )
        ]


def installed_folders(
    project: Path | None, home: Path | None, skipped: list[SkippedExtension]
) -> list[tuple[Path, Scope]]:
    """Returns the folders in `PROJECT/.zot/extensions`, then those in `HOME/extensions`, each sorted by name and
    followed by the Copilot extensions of the project or of the user. Does not read their content. A parent that cannot
    be listed is added to `skipped`. If both parents are one folder, its scope is GLOBAL."""
    folders: list[tuple[Path, Scope]] = []
    if project is not None:
        if not (home is not None and _is_same(project / ".zot", home)):
            folders += [(folder, Scope.PROJECT) for folder in _folders(project / ".zot" / "extensions", skipped)]
        folders += [(folder, Scope.PROJECT) for folder in copilot_folders_in(copilot_folder_of(project), skipped)]
    if home is not None:
        folders += [(folder, Scope.GLOBAL) for folder in _folders(home / "extensions", skipped)]
        for parent in copilot_folders_of_user(home):
            if (mine := copilot_folders_in(parent, skipped)) and not _are_listed(parent, folders):
                folders += [(folder, Scope.GLOBAL) for folder in mine]
    return folders


def _are_listed(parent: Path, folders: list[tuple[Path, Scope]]) -> bool:
    """Whether the folders in `parent` are among `folders`, perhaps by another path."""
    real = os.path.realpath(parent)
    return any(os.path.realpath(each) == real for each in {folder.parent for folder, _scope in folders})


def copilot_folders_in(parent: Path, skipped: list[SkippedExtension]) -> list[Path]:
    """Returns the Copilot extensions in `parent`, sorted by name: folders with an `extension.mjs` or a manifest."""
    if not os.path.lexists(parent):
        return []
    return [
        folder
        for folder in _folders(parent, skipped)
        if os.path.lexists(folder / PROGRAM) or os.path.lexists(folder / MANIFEST)
    ]


def broken_link(folder: Path) -> str:
    """The fault of a symbolic link that leads nowhere, and what to do."""
    try:
        target = os.readlink(folder)
    except OSError:
        target = "?"
    remove = f"zot ext remove {shlex.quote(folder.name)}"
    return f"is a link to {target}, which does not exist; put the folder back, or {remove}"


def read_manifest(folder: Path, name: str = "") -> Manifest:
    """Reads the manifest in the folder, or makes the manifest of a Copilot extension, whose default name is that of the
    folder. Raises `ManifestError`, with one line that names the fault."""
    path = folder / MANIFEST
    if str(folder) != valid_text(str(folder)):
        raise ManifestError("its path is not valid UTF-8, and the extension could not be told of it")
    try:
        text = read_file(path)
    except FileNotFoundError:
        if folder.is_symlink() and not folder.exists():
            raise ManifestError(broken_link(folder)) from None
        if not folder.is_dir():
            raise ManifestError("read manifest: no such folder") from None
        if not is_for_copilot(folder.parent) and not os.path.lexists(folder / PROGRAM):
            raise ManifestError(f"read manifest: no {MANIFEST} in it") from None
        return _copilot_manifest(folder, None, name)
    except OSError as error:
        what = f"it is a file; name its folder, {folder.parent}" if folder.is_file() else error.strerror
        failed = ManifestError(f"read manifest: {what}")
        failed.may_be_needed = True
        raise failed from None
    if is_for_copilot(folder.parent) or (os.path.lexists(folder / PROGRAM) and _has_no_exec(text)):
        return _copilot_manifest(folder, text, name)
    return parse_manifest(text, has_theme=has_theme(folder))


def has_theme(folder: Path) -> bool:
    """Whether the folder has a theme for zot's terminal."""
    return any(os.path.exists(folder / path) for path in THEMES)


def _has_no_exec(text: bytes) -> bool:
    from supervisor.discovery.copilot.manifest import has_no_exec

    return has_no_exec(text)


def _copilot_manifest(folder: Path, text: bytes | None, name: str) -> Manifest:
    try:
        from supervisor.discovery.copilot.manifest import copilot_manifest  # most runs have no such folder

        return copilot_manifest(folder, text, name)
    except (ImportError, OSError) as error:  # in a reload there may be no descriptor
        raise ManifestError(f"cannot load what it needs: {error}") from None


def _is_same(first: Path, second: Path) -> bool:
    try:
        return os.path.samefile(first, second)
    except OSError:
        return False


def _folders(parent: Path, skipped: list[SkippedExtension]) -> list[Path]:
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
        skipped.append(SkippedExtension(parent, SkipReason(f"cannot be read: {error.strerror}")))
        return []
    skipped += [
        SkippedExtension(folder, SkipReason(broken_link(folder)), unread_kind(folder)) for folder in sorted(broken)
    ]
    return sorted(found)
