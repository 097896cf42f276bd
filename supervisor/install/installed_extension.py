"""Lists the installed extensions, even broken ones: their folders, their names, and their trust."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.discovery.content.covered_files import ContentError
from supervisor.discovery.discover import MANIFEST, mcp_file, read_manifest, servers_of
from supervisor.discovery.found_extension import FoundExtension, Scope, unread_kind
from supervisor.discovery.trust_store import TrustError, TrustStore
from supervisor.home.copilot_folders import PROGRAM, copilot_folder_of, copilot_folders_of_user, is_for_copilot
from supervisor.home.safe_files import is_staging
from supervisor.install.errors import MisuseError
from supervisor.install.record import InstallRecord, RecordError, read_record
from supervisor.install.staging_folder import sweep
from wire.manifest import Manifest, ManifestError
from wire.suggestions import no_such

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from supervisor.discovery.kind import ExtensionKind
    from supervisor.discovery.trust_rules import TrustJudgement

BOTH = (Scope.PROJECT, Scope.GLOBAL)


@dataclass(frozen=True)
class ExtensionFolders:
    """The folders with installed extensions and files of MCP servers."""

    project: Path
    """The project's folder; it may contain no extensions."""
    home: Path

    def parent(self, scope: Scope) -> Path:
        """Returns the folder that holds the extensions of a scope."""
        return self.project / ".zot" / "extensions" if scope is Scope.PROJECT else self.home / "extensions"

    def copilot_parents(self, scope: Scope) -> tuple[Path, ...]:
        """Returns the folders that hold Copilot extensions of a scope and no others."""
        return (copilot_folder_of(self.project),) if scope is Scope.PROJECT else copilot_folders_of_user(self.home)

    def mcp_file(self, scope: Scope) -> Path:
        """Returns the file with the MCP servers of a scope."""
        return mcp_file(scope, self.project, self.home)


@dataclass(frozen=True)
class InstalledExtension:
    """One folder in an extension folder, or one MCP server of a file."""

    folder: Path
    """For an MCP server its `place`: the path of its file and the server's name. For an unreadable file of servers, the
    file."""
    scope: Scope
    manifest: Manifest | None
    record: InstallRecord | None
    """None for a link: a record in its target is not about the link."""
    trouble: str = ""
    """The fault of the manifest; empty if the manifest is readable."""
    record_trouble: str = ""
    """The fault of the record; empty if the record is readable or missing."""
    mcp_file: Path | None = None
    """The file with the entry of an MCP server."""
    mcp_found: FoundExtension | None = None
    """The MCP server, if its entry can be read; not expanded if a variable is not set, which `trouble` says."""

    @property
    def name(self) -> str:
        return self.folder.name if self.manifest is None else self.manifest.name

    @property
    def names(self) -> frozenset[str]:
        """The names that a user may use: its own, and the name of its folder or its entry."""
        return self.mcp_found.names if self.mcp_found is not None else frozenset({self.name, self.folder.name})

    @property
    def is_link(self) -> bool:
        return self.folder.is_symlink()

    @property
    def target(self) -> str:
        """The target of the link, as it was written; empty if the folder is not a link."""
        try:
            return os.readlink(self.folder)
        except OSError:
            return ""

    @property
    def found(self) -> FoundExtension | None:
        if self.mcp_found is not None:
            return self.mcp_found
        return None if self.manifest is None else FoundExtension(self.folder, self.manifest, self.scope)

    @property
    def needs_trust(self) -> bool:
        """Whether a run starts it only if the user has trusted it."""
        return self.scope is Scope.PROJECT if self.found is None else self.found.needs_trust

    @property
    def kind(self) -> ExtensionKind:
        """The kind of the extension; if it cannot be read, by where it lies."""
        return unread_kind(self.folder, self.mcp_file) if self.found is None else self.found.kind

    @property
    def runs_in(self) -> Path:
        """The folder of its process."""
        if self.mcp_file is None:
            return self.folder
        return self.mcp_file.parent if self.mcp_found is None else self.mcp_found.folder

    @property
    def where(self) -> str:
        return f"{self.mcp_file or self.folder} ({self.scope.label})"


def look_at(folder: Path, scope: Scope) -> InstalledExtension:
    """Reads the manifest and the record of a folder. Raises nothing."""
    manifest, record, trouble, record_trouble = None, None, "", ""
    try:
        manifest = read_manifest(folder)
    except ManifestError as error:
        trouble = str(error)
    try:
        record = None if folder.is_symlink() else read_record(folder)
    except RecordError as error:
        record_trouble = str(error)
    return InstalledExtension(folder, scope, manifest, record, trouble, record_trouble)


def installed_extensions(
    folders: ExtensionFolders, scopes: Iterable[Scope] = BOTH, tell: Callable[[str], None] = lambda _line: None
) -> list[InstalledExtension]:
    """Returns all extensions of these scopes: the project's first, each scope sorted by folder, then its Copilot
    extensions, then the MCP servers of its file. First cleans up after killed commands; `tell` gets a line for each
    path that cannot be deleted. Raises `OSError` for a folder that cannot be read."""
    found = []
    wanted = tuple(scopes)
    seen = set()
    for scope in wanted:
        for parent in (folders.parent(scope), *folders.copilot_parents(scope)):
            if scope is Scope.PROJECT and Scope.GLOBAL in wanted and _is_same(parent, folders.parent(Scope.GLOBAL)):
                continue  # the project's .zot is $ZOT_HOME
            if (real := os.path.realpath(parent)) not in seen:
                seen.add(real)
                for line in sweep(parent):
                    tell(line)
                found += [look_at(folder, scope) for folder in _folders(parent)]
        found += _servers(folders, scope)
    return found


def _folders(parent: Path) -> list[Path]:
    """The folders and links that may be extensions. Raises `OSError`."""
    try:
        names = sorted(os.listdir(parent))
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [parent / name for name in names if not is_staging(name)]
    found = [path for path in found if path.is_dir() or path.is_symlink()]
    if not is_for_copilot(parent):
        return found
    return [
        path for path in found if not path.exists() or any(os.path.lexists(path / name) for name in (PROGRAM, MANIFEST))
    ]


def _servers(folders: ExtensionFolders, scope: Scope) -> list[InstalledExtension]:
    found = servers_of(scope, folders.project, folders.home)
    if not found:
        return []
    from supervisor.discovery.mcp.servers import expand_variables

    file = folders.mcp_file(scope)
    servers: list[InstalledExtension] = []
    for each in found:
        if not isinstance(each, FoundExtension):
            servers.append(InstalledExtension(each.folder, scope, None, None, each.reason, mcp_file=file))
            continue
        made = expand_variables(each, os.environ)
        trouble, server = (made, each) if isinstance(made, str) else ("", made)
        servers.append(
            InstalledExtension(each.place, scope, server.manifest, None, trouble, mcp_file=file, mcp_found=server)
        )
    return servers


def _is_same(folder: Path, other: Path) -> bool:
    return os.path.realpath(folder) == os.path.realpath(other)


def extension_named(name: str, candidates: Sequence[InstalledExtension]) -> InstalledExtension:
    """Returns the extension with this name in its manifest, else the extension in the folder of this name. Raises
    `MisuseError` if no extension, or more than one, has it."""
    matching = [
        extension for extension in candidates if extension.manifest is not None and extension.manifest.name == name
    ]
    matching = matching or [extension for extension in candidates if extension.folder.name == name]
    by_folder = [extension for extension in matching if extension.folder.name == name]
    if len(matching) > 1 and len({extension.scope for extension in matching}) == 1 and len(by_folder) == 1:
        matching = by_folder
    if not matching:
        known = sorted(
            {extension.name for extension in candidates} | {extension.folder.name for extension in candidates}
        )
        if not known:
            raise MisuseError(f"{no_such('extension', name, known)} installed")
        raise MisuseError(no_such("installed extension", name, known))
    if len(matching) == 1:
        return matching[0]
    listed = ", ".join(extension.where for extension in matching)
    if len({extension.scope for extension in matching}) > 1:
        raise MisuseError(f"{name!r} is installed more than once: {listed}; add --project or --global")
    raise MisuseError(f"{name!r} is the name of more than one: {listed}; name it by its folder")


def trust(extension: InstalledExtension, home: Path) -> str:
    """Records that the user trusts the present content of an extension. Returns why that failed, or ""."""
    if extension.manifest is None:
        return extension.trouble
    try:
        TrustStore(home).trust(extension.folder, extension.manifest, found=extension.mcp_found)
    except (TrustError, ContentError) as error:
        return str(error)
    return ""


def judge_trust(extension: InstalledExtension, home: Path) -> TrustJudgement | None:
    """Returns the judgement on the extension's trust; None if its manifest is broken."""
    return None if extension.found is None else TrustStore(home).judge(extension.found)


def is_trusted(extension: InstalledExtension, home: Path) -> bool:
    """Whether a run starts the extension without a question."""
    judged = judge_trust(extension, home)
    return judged is not None and judged.is_trusted
