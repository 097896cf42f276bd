"""Extensions that discovery has found, with their origin."""

from __future__ import annotations

import os
import shlex
import shutil
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.discovery.kind import COPILOT, NODE, ExtensionKind
from supervisor.home.copilot_folders import PROGRAM, is_for_copilot
from wire.dialects.table import find_dialect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from supervisor.discovery.content.seal import Seal
    from supervisor.loop.link import Link
    from wire.manifest import Manifest
    from wire.settings.mcp_file import McpEntry


class Scope(IntEnum):
    """Where an extension comes from, in order of precedence."""

    EXPLICIT = 0
    PROGRAM = 1
    """It is part of the program in which this host runs."""
    PROJECT = 2
    GLOBAL = 3

    @property
    def label(self) -> str:
        """The name of the scope for people."""
        return "user" if self is Scope.GLOBAL else self.recorded

    @property
    def recorded(self) -> str:
        """The name of the scope in records."""
        names = {Scope.EXPLICIT: "--ext", Scope.PROGRAM: "program", Scope.PROJECT: "project", Scope.GLOBAL: "global"}
        return names[self]


class ProjectCopy(msgspec.Struct, frozen=True):
    """A copy of a project's folder, which is judged by the trust records of the original. Both are resolved paths."""

    folder: str
    original: str

    @classmethod
    def of(cls, folder: str, original: str) -> ProjectCopy:
        return cls(os.path.realpath(folder), os.path.realpath(original))

    def in_original(self, path: str) -> str | None:
        """The place of a resolved path in the original; None if it does not lie in the copy."""
        inside = path.removeprefix(self.folder)
        return self.original.rstrip("/") + inside if inside[:1] == "/" and inside != path else None


class FoundExtension(msgspec.Struct, frozen=True):
    """An extension that can be started."""

    folder: Path
    manifest: Manifest
    scope: Scope
    position: int = 0
    """Order of the `--ext` options, or of the arrival from the program; 0 in the other scopes."""
    seal: Seal | None = None
    """The files as they were hashed; None if the extension needs no trust."""
    link: Link | None = None
    """The connection to an extension of the scope PROGRAM; None in the other scopes. `folder` is then the host's."""

    options: Mapping[str, Any] = {}
    """Settings that only its dialect knows."""
    mcp_file: Path | None = None
    """The file with the entry of an MCP server; None if the extension has a manifest. With it, `folder` is where the
    server runs, which other programs use, too."""
    mcp_entry: McpEntry | None = None
    """The entry in that file."""
    workspace: Path | None = None
    """With `mcp_file`: the project's folder."""
    command: tuple[str, ...] = ()
    """The program and its arguments, if they differ from the manifest's: a program of zot's starts a Copilot extension,
    and with `mcp_file` they are expanded. People then see the manifest's words, since an expanded word may be a
    secret."""
    set_env: Mapping[str, str] = {}
    """Further variables for its environment, expanded."""
    runs_in: Path | None = None
    """The folder in which its process runs; None if that is `folder`."""

    @property
    def kind(self) -> ExtensionKind:
        """The kind by origin, not by protocol: other programs may speak the protocol of Copilot extensions."""
        if self.mcp_file is not None:
            return ExtensionKind.MCP
        return (
            ExtensionKind.COPILOT
            if (self.manifest.dialect, *self.written) == (COPILOT, NODE, PROGRAM)
            else ExtensionKind.OWN
        )

    @property
    def names(self) -> frozenset[str]:
        """The names that people may use: its name, and the name of an MCP server as its file has it."""
        return frozenset((self.manifest.name, *(() if self.mcp_entry is None else (self.mcp_entry.key,))))

    @property
    def place(self) -> Path:
        """Its key in records: its folder; for an MCP server its file's path and its name, where no file can be."""
        return self.folder if self.mcp_file is None else self.mcp_file / self.manifest.name

    @property
    def where(self) -> str:
        """Its place in words for people."""
        return str(self.folder if self.mcp_file is None else self.mcp_file)

    @property
    def working_folder(self) -> str:
        """The folder in which its process runs."""
        return str(self.folder if self.runs_in is None else self.runs_in)

    @property
    def source(self) -> str:
        """Its scope for people; for EXPLICIT the option that names it."""
        return self.kind.flag if self.scope is Scope.EXPLICIT else self.scope.label

    @property
    def written(self) -> list[str]:
        """The program and its arguments as they are written."""
        return list(self.manifest.words)

    @property
    def shown(self) -> list[str]:
        """The program and its arguments as they may be shown."""
        return self.written if self.kind.is_expanded else self.argv

    @property
    def is_hosted(self) -> bool:
        """Whether another host runs it, for this run and for others."""
        return self.link is not None and self.link.is_hosted

    @property
    def is_hashed(self) -> bool:
        """Whether this manifest and its files were hashed, and are the content that the user has trusted."""
        return self.seal is not None and self.seal.manifest is self.manifest

    @property
    def change(self) -> str:
        """Names a file that has changed since it was hashed; "" without a change or without a hash."""
        return self._change(has_begun=False)

    @property
    def change_while_starting(self) -> str:
        """As `change`, once its process has started and may have written new files beside the hashed ones. If the seal
        lasts, the process may have written only its data: any other new file may be made for its next start."""
        return self._change(has_begun=self.seal is not None and not self.seal.lasts)

    def _change(self, *, has_begun: bool) -> str:
        path = "" if self.seal is None else self.seal.first_change(has_begun=has_begun)
        if self.seal is None or not path:
            return ""
        name = shlex.quote(self.manifest.name)
        advice = (
            f"to run it as it is now: zot ext trust {name}, then zot ext reload {name}"
            if self.seal.lasts
            else "nothing may write there while it starts"
        )
        return f"{path} has changed since it was checked; {advice}"

    @property
    def lasting_change(self) -> str:
        """As `change`, only for a seal that lasts: then no further process may be started."""
        if self.seal is None or not self.seal.lasts:
            return ""
        if self.seal.unchecked:
            return f"it is not restarted in a run with --copilot: {self.seal.unchecked}"
        return self.change

    @property
    def argv(self) -> list[str]:
        if not (self.command or self.manifest.exec):
            return []
        return [self.program, *(self.command[1:] if self.command else self.manifest.args or ())]

    @property
    def program(self) -> str:
        """The program of the manifest's `exec`: an absolute path as it is; a name with a slash relative to the
        extension's folder; any other name from the absolute folders of PATH, for an MCP server from the PATH in
        its `env` if it has one."""
        exec_ = self.command[0] if self.command else self.manifest.exec
        if "/" not in exec_ and exec_ not in (".", ".."):
            own = self.set_env.get("PATH")
            return (on_path(exec_) if own is None else shutil.which(exec_, path=own)) or exec_
        return str(self.folder / exec_)

    @property
    def needs_trust(self) -> bool:
        """Whether it runs only if the user has trusted it: extensions of a project, and Copilot extensions of the user,
        since other programs also put these there."""
        return self.scope is Scope.PROJECT or (self.scope is Scope.GLOBAL and self.manifest.dialect == COPILOT)

    @property
    def is_of_a_project(self) -> bool:
        """Whether it lies in a project's `.zot/extensions` or `.github/extensions`, even if named by `--ext`."""
        if self.scope is not Scope.EXPLICIT or not self.kind.has_folder:
            return self.scope is Scope.PROJECT
        parent = self.folder.absolute().parent
        return parent.name == "extensions" and parent.parent.name in (".zot", ".github")

    @property
    def default_hello_s(self) -> float:
        """Seconds to wait for the hello if the manifest sets no time."""
        dialect = find_dialect(self.manifest.dialect)
        return dialect.launcher_hello_s if Path(self.program).name in dialect.launchers else dialect.hello_s

    @property
    def order(self) -> tuple[int, int, int, str]:
        """The sort key of the order in which guards are asked: priority, then scope, then position, then name."""
        return (-self.manifest.priority, self.scope, self.position, self.manifest.name)


def unread_kind(place: Path, mcp_file: Path | None = None) -> ExtensionKind:
    """The kind of an unreadable extension, by its place: a folder, or an entry in a file of MCP servers."""
    if mcp_file is not None:
        return ExtensionKind.MCP_FILE if place == mcp_file else ExtensionKind.MCP
    return ExtensionKind.COPILOT if is_for_copilot(place.parent) else ExtensionKind.OWN


def on_path(program: str) -> str | None:
    """The absolute path of a program; None if it is not found.

    Skips relative entries of PATH (`.`, `node_modules/.bin`, an empty one): they mean the present folder, in which a
    project could put a program of its own in place of the user's.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return shutil.which(program, path=os.pathsep.join(filter(os.path.isabs, folders)))
