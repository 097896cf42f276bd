"""What discovery finds: extensions that can be started, with where they are from, and what cannot, with the reason."""

from __future__ import annotations

import shlex
import shutil
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.home.copilot_folders import PROGRAM
from supervisor.home.search_path import on_path
from wire.dialects.table import dialect_named
from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from supervisor.discovery.seal import Seal
    from supervisor.loop.link import Link
    from wire.manifest import Manifest
    from wire.settings.mcp_file import McpEntry


COPILOT = "copilot"
"""The dialect of Copilot extensions."""
NODE = "node"
"""Runs them."""
NEVER_SEEN = "never seen"
"""Why an extension is not trusted that the user has said nothing of."""
NAMED = 5
"""A line about several extensions names so many."""


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
    runs_in: Path | None = None
    """The folder in which its process runs; None if that is `folder`."""

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
    def working_folder(self) -> str:
        """The folder in which its process runs."""
        return str(self.folder if self.runs_in is None else self.runs_in)

    @property
    def source(self) -> str:
        """Its scope for people; of the scope EXPLICIT the option that names it."""
        return "--mcp-config" if self.scope is Scope.EXPLICIT and self.entry is not None else self.scope.label

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
        """The same of files that are sealed for good: no further process may be started."""
        if self.seal is None or not self.seal.lasts:
            return ""
        if self.seal.unchecked:
            return f"it is not started again in a run with --copilot: {self.seal.unchecked}"
        return self.change

    @property
    def argv(self) -> list[str]:
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
        """Whether it runs only if the user has trusted it: as all of a project, and the Copilot extensions of the user,
        since other programs put them there, too."""
        return self.scope is Scope.PROJECT or (self.scope is Scope.GLOBAL and self.manifest.dialect == COPILOT)

    @property
    def is_copilot(self) -> bool:
        """Whether it is a Copilot extension, which zot starts with Node; and not a program of another kind that speaks
        its protocol."""
        return (self.manifest.dialect, *self.written) == (COPILOT, NODE, PROGRAM)

    @property
    def is_of_a_project(self) -> bool:
        """Whether the extension lies in a project's `.zot/extensions` or `.github/extensions`, even if it was named
        with `--ext`."""
        if self.scope is not Scope.EXPLICIT or self.entry is not None:
            return self.scope is Scope.PROJECT
        parent = self.folder.absolute().parent
        return parent.name == "extensions" and parent.parent.name in (".zot", ".github")

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
    is_copilot: bool = False
    """Whether it is a Copilot extension that is not trusted, or that cannot be started here."""
    is_new: bool = False
    """Whether the user has said nothing of it, so that it is not trusted; or, in a folder of the user's, would not be
    if it could be read."""

    @property
    def why_untrusted(self) -> str:
        """Of `reason`, as `untrusted_reason` makes it, why the extension is not trusted."""
        return self.reason.removeprefix("not trusted (").rpartition("): not started")[0]

    @property
    def is_of_others(self) -> bool:
        """Whether it is a Copilot extension in a folder of the user's that was never trusted: it is there for other
        programs, and nobody counts on it as a guard here."""
        return self.is_new and (self.untrusted is None or self.untrusted.scope is Scope.GLOBAL)

    def of_others(self) -> Skipped:
        """The same, of what is broken in a folder with Copilot extensions of the user, and was never trusted."""
        return msgspec.structs.replace(self, may_be_needed=False, is_copilot=True, is_new=True)

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
            if self.entry is None
            else "may be required"
            if self.entry != self.folder
            else "may have a server that is required"
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
            what = "MCP server" if self.entry is not None else "Copilot extension" if self.is_copilot else "extension"
            whose = "this project" if self.untrusted.scope is Scope.PROJECT else "yours"
            return f"{what} {self.name} of {whose} is {self.reason}"
        if self.entry is None:
            return f"extension load: {self.folder}: {self.reason}"
        return f"MCP servers: {self.reason}" if self.entry == self.folder else f"MCP server {self.name}: {self.reason}"


_BROKEN = object()
"""What lies among the user's Copilot extensions, and was never one here: in one line, whatever the faults are."""


def lines_of(skipped: Iterable[Skipped]) -> list[str]:
    """The notices for the user about all that must be told. Copilot extensions with the same fault share one: a folder
    of the Copilot CLI may have many that nobody wants here."""
    alike: dict[object, list[Skipped]] = {}
    for each in skipped:
        if each.is_error:
            is_broken = each.untrusted is None and each.is_of_others
            state: object = _BROKEN if is_broken else each.reason
            if each.untrusted is not None:
                state = each.untrusted.scope, each.why_untrusted
            alike.setdefault(state if each.is_copilot else id(each), []).append(each)
    return [each[0].line if len(each) == 1 else _line_of_several(each) for each in alike.values()]


def _line_of_several(skipped: Sequence[Skipped]) -> str:
    first, names = skipped[0].untrusted, [shlex.quote(each.name) for each in skipped]
    more = len(names) - NAMED
    named = ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
    count = counted(len(skipped), "Copilot extension")
    if first is None and skipped[0].is_of_others:
        return f"{count} of yours cannot be used: {named}: zot ext list says why of each"
    if first is None:
        return f"{count} cannot be started: {named}: {skipped[0].reason.replace('it needs', 'they need', 1)}"
    whose, other = ("this project", ", or --trust-project") if first.scope is Scope.PROJECT else ("yours", "")
    why = "" if skipped[0].is_new else f" ({skipped[0].why_untrusted})"
    return f"{count} of {whose} are not trusted{why}: not started: {named}; zot ext trust NAME{other}"
