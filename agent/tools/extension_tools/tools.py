"""Carries out the calls of `extensions_manage` and `extensions_reload`. A call ends in a later pass of the loop, or at
once; nothing waits here.

The agent may write an extension, but only the user decides whether it runs: the reloader of such a host admits by the
content on record (`supervisor.reload.strict_admission`), and a guard is not stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import msgspec

from agent.tools import arguments
from agent.tools.catalogue import EXTENSIONS_MANAGE, EXTENSIONS_RELOAD, OF_EXTENSIONS
from agent.tools.extension_tools import report
from agent.tools.extension_tools.rows import rows_of
from agent.tools.outcome import ToolError
from supervisor.discovery.copilot.scaffold import ScaffoldError, scaffold, tool_prefix
from supervisor.home.copilot_folders import copilot_folders
from supervisor.loop.future import Failure
from wire.suggestions import no_such, not_one_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent.tools.call_end import Done
    from supervisor.discovery.copilot.scaffold import Location
    from supervisor.discovery.discover import Discovery
    from supervisor.reload.reloader import Reloader
    from supervisor.supervisor import Supervisor
    from wire.control import ReloadOutcome

OPERATIONS = ("scaffold", "list", "inspect")
LOCATIONS = ("project", "user")
QUOTED = 80
"""Maximum of a wrong word in the error about it, in characters."""


class Scaffold(msgspec.Struct, frozen=True):
    name: str
    location: Location


class ListAll(msgspec.Struct, frozen=True):
    pass


class Inspect(msgspec.Struct, frozen=True):
    name: str


Request = Scaffold | ListAll | Inspect


def read(args: arguments.Arguments) -> Request:
    """The request in the arguments of a call. Raises `ToolError`."""
    operation = _one_of(args, "operation", OPERATIONS)
    if operation == "list":
        return ListAll()
    name = arguments.text(args, "name").strip()
    if not name:
        raise ToolError(f"name is required for {operation}")
    if operation == "inspect":
        return Inspect(name)
    return Scaffold(name, cast("Location", _one_of(args, "location", LOCATIONS, default="project")))


def _one_of(args: arguments.Arguments, field: str, known: Sequence[str], default: str = "") -> str:
    word = arguments.text(args, field).strip() or default
    if word in known:
        return word
    if not word:
        raise ToolError(f"{field} is required: {', '.join(known)}")
    raise ToolError(f"{field}: {not_one_of(word[:QUOTED], known)}")


STOPPING = "the host is stopping"


class ExtensionTools:
    """The two tools of one engine. `project`: the working folder, `home`: `$ZOT_HOME`. `reloader` finds extensions."""

    specs = OF_EXTENSIONS

    def __init__(
        self,
        supervisor: Supervisor,
        reloader: Reloader,
        *,
        project: Path,
        home: Path,
        dialect: str,
        parents: tuple[Path, ...] | None = None,
    ) -> None:
        """`parents`: the folders around the folders of extensions, the project's first; default: those of Copilot
        extensions."""
        self._supervisor = supervisor
        self._reloader = reloader
        self._project = project
        self._home = home
        self._dialect = dialect
        self._open: dict[int, Done] = {}
        self._count = 0
        self._is_reloading = False
        """Whether a reload runs that an extension has asked for."""
        self._parents = copilot_folders(project, home) if parents is None else parents

    def begin(self, tool: str, args: bytes, done: Done) -> None:
        """Carries out a call with these arguments, a JSON object. `done` is called once."""
        done = self._begin(done)
        try:
            fields = arguments.decode(args)
            if tool == EXTENSIONS_RELOAD.name:
                self._reload(done)
                return
            request = read(fields)
            if isinstance(request, Scaffold):
                done(self._scaffold(request), False)
                return
        except (ToolError, ScaffoldError) as error:
            done(f"{tool}: {error}", True)
            return
        self._look(request, done)

    def cancel_pending(self, reason: str) -> None:
        """Ends all open calls. A reload that has begun goes on."""
        given_up, self._open = self._open, {}
        for done in given_up.values():
            done(f"aborted: {reason}", True, Failure.CANCELLED)

    def reload_for(self, dialect: str) -> str:
        """Begins a reload for an extension of this dialect. Returns why not; "" if it has begun."""
        if dialect != self._dialect:
            return f"only extensions of the dialect {self._dialect} are reloaded so"
        if self._is_reloading:
            return "such a reload runs already"

        def ended(_outcomes: object, _waiting: object) -> None:
            self._is_reloading = False

        self._is_reloading = True
        self._reloader.begin_dialect(self._dialect, self._parents, ended)
        return ""

    def _begin(self, done: Done) -> Done:
        """Opens a call. Returns a `done` without effect after the end of the call."""
        self._count += 1
        number = self._count
        self._open[number] = done

        def ended(text: str, is_error: bool, failure: Failure | None = None) -> None:
            if self._open.pop(number, None) is not None:
                done(text, is_error, failure)

        return ended

    def _scaffold(self, request: Scaffold) -> str:
        """Raises `ScaffoldError`."""
        name = request.name
        for extension in self._supervisor.extensions:
            if extension.name == name and extension.manifest.dialect != self._dialect:
                raise ScaffoldError(f"an extension of another kind is called {name!r}; choose another name")
        program = scaffold(name, request.location, self._project, self._home)
        return report.scaffold_report(name, str(program), f"{tool_prefix(name)}_greet")

    def _look(self, request: ListAll | Inspect, done: Done) -> None:
        def looked(discovery: Discovery | None) -> None:
            if discovery is None:
                done(f"{EXTENSIONS_MANAGE.name}: {STOPPING}", True)
                return
            rows = rows_of(self._supervisor, self._dialect, self._parents, discovery)
            if isinstance(request, ListAll):
                done(report.list_report(rows), False)
                return
            mine = [row for row in rows if row.name == request.name]
            if mine:
                done("\n\n".join(map(report.inspection_report, mine)), False)
            else:
                known = sorted({row.name for row in rows})
                done(f"{EXTENSIONS_MANAGE.name}: {no_such('extension', request.name[:80], known)}", True)

        self._reloader.look(looked)

    def _reload(self, done: Done) -> None:
        before = set(self._supervisor.registrations.tools())

        def ended(outcomes: tuple[ReloadOutcome, ...], waiting: frozenset[ReloadOutcome]) -> None:
            if self._supervisor.closed:
                done(f"{EXTENSIONS_RELOAD.name}: {STOPPING}", True)
                return
            new: dict[str, list[str]] = {}
            for name, owned in self._supervisor.registrations.tools().items():
                if name not in before:
                    new.setdefault(owned.owner.name, []).append(name)
            up = {each.name for each in self._supervisor.extensions if each.is_up}
            done(report.reload_report(outcomes, up, new, waiting), False)

        self._reloader.begin_dialect(self._dialect, self._parents, ended)
