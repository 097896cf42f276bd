"""`zot ext trust`: shows the programs of extensions, and records that they may run. Reads files and starts nothing."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.choices import CommandLineError, project_folder
from cli.columns import align_columns, print_table
from cli.json_line import print_json
from cli.os_errors import UnableError
from cli.run.trust_prompt import answer_to, can_ask, card, cut
from cli.terminal import complain
from supervisor.cleanup.env_marks import TOKEN
from supervisor.discovery.discover import (
    PROJECT_FILE,
    installed_folders,
    mcp_file,
    read_manifest,
    servers_in,
    servers_of,
)
from supervisor.discovery.environment import policy_of
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.discovery.skipped_extension import SkippedExtension
from supervisor.discovery.trust_rules import TrustState
from supervisor.discovery.trust_store import TrustStore, key_of
from supervisor.home.config import load_config
from supervisor.home.copilot_folders import copilot_folder_of
from supervisor.home.zot_home import zot_home
from wire.exit_codes import Status
from wire.manifest import ManifestError
from wire.suggestions import no_such
from wire.text import counted, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.discovery.trust_rules import TrustJudgement
    from supervisor.home.config import Config

NAME = "ext trust"
NOT_A_PERSON = (
    "an agent's tool or an extension has started this, and what may run is for a person to say: run it in a terminal of"
    " your own"
)
GONE = "gone"
"""The standing of an entry whose folder no longer holds an extension."""


def run_trust(
    what: str | None,
    *,
    project: bool,
    cwd: str | None,
    listing: bool,
    revoke: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Runs `zot ext trust` and returns the exit status. Raises `CommandLineError`, `UnableError`, `TrustError`,
    `ContentError` and `ConfigError`."""
    if sum((what is not None, project, listing, revoke is not None)) > 1:
        raise CommandLineError("ext trust: choose one of NAME, --project, --list and --revoke")
    folder = Path(project_folder(cwd))
    home = zot_home()
    ask = not (yes or as_json) and can_ask()
    actions = _TrustActions(TrustStore(home), folder, home, ask=ask, as_json=as_json)
    if listing:
        return actions.list()
    if revoke is not None:
        return actions.revoke(revoke)
    if project:
        return actions.trust(actions.of_project())
    if what is not None:
        return actions.trust([actions.find(what)])
    if yes:
        raise CommandLineError("ext trust: --yes agrees to what you name: add a NAME, or --project for all of them")
    return actions.offer()


class _TrustActions:
    def __init__(self, store: TrustStore, project: Path, home: Path, *, ask: bool, as_json: bool) -> None:
        self._store = store
        self._project = project
        self._home = home
        self._ask = ask
        self._as_json = as_json
        self._config: Config = load_config(home)
        self._failed = False
        self._faulty: dict[str, str] = {}
        """The MCP servers that cannot be started, by name, and why."""

    # --- the choice --------------------------------------------------------------------------------------------

    def of_project(self) -> list[FoundExtension]:
        """The enabled extensions of the project. Raises `UnableError` if the project has none."""
        found = [
            *self._read(installed_folders(self._project, None, []), tells=True),
            *self._servers(Scope.PROJECT, tells=True),
        ]
        if not found and not self._failed:
            nowhere = "nothing in .zot/extensions, .github/extensions and .mcp.json"
            raise UnableError(f"{self._project} has no extensions of its own: {nowhere}")
        for extension in found:
            if not extension.manifest.is_enabled:
                complain(NAME, f"{extension.manifest.name} is disabled, and skipped")
        return [extension for extension in found if extension.manifest.is_enabled]

    def find(self, what: str) -> FoundExtension:
        """Finds an extension by its manifest's name, its folder's name, or its folder's path. Raises `UnableError`."""
        servers = [*self._servers(Scope.PROJECT), *self._servers(Scope.GLOBAL)]
        by_key = [each for each in servers if each.mcp_entry is not None and each.mcp_entry.key == what]
        if "/" in what or what in (".", ".."):
            return by_key[0] if by_key else self._at(Path(what))
        unusable: list[SkippedExtension] = []
        places = installed_folders(self._project, self._home, unusable)
        known = [*self._read(places), *servers]
        for wanted in (
            [extension for extension in known if extension.manifest.name == what],
            [extension for extension in known if extension.kind.has_folder and extension.folder.name == what],
            by_key,
        ):
            if wanted:
                return wanted[0]
        for folder, _ in places:
            if folder.name == what:
                return self._at(folder)  # raises the reason: its manifest is missing or bad
        for skipped in unusable:
            if skipped.folder.name == what:
                raise UnableError(f"{skipped.folder}: {skipped.reason}")
        if what in self._faulty:
            raise UnableError(self._faulty[what])
        if Path(what).is_dir():
            return self._at(Path(what))
        names = sorted({extension.manifest.name for extension in known})
        raise UnableError(no_such("extension", what, names), Status.USAGE)

    def _waiting(self) -> list[tuple[FoundExtension, TrustJudgement]]:
        """The enabled extensions of the project, and the Copilot extensions of the user, that are not trusted.
        Complains of those of the project that cannot be read."""
        waiting = []
        places = self._places()
        mine = self._read([each for each in places if each[1] is Scope.PROJECT], tells=True)
        others = self._read([each for each in places if each[1] is not Scope.PROJECT])
        for found in (*mine, *others, *self._servers(Scope.PROJECT, tells=True)):
            if not found.manifest.is_enabled or not found.needs_trust:
                continue
            judged = self._store.examine(found.place, found.manifest, found)
            if judged.is_trusted:
                continue
            if judged.content is not None:
                waiting.append((found, judged))
            else:
                self._failed = True
                complain(NAME, f"{found.manifest.name}: {judged.reason}")
        return waiting

    def _places(self) -> list[tuple[Path, Scope]]:
        return installed_folders(self._project, self._home, [])

    def _servers(self, scope: Scope, *, tells: bool = False) -> list[FoundExtension]:
        """The MCP servers in the file of a scope, expanded. One that cannot be started cannot be trusted either."""
        listed = servers_of(scope, self._project, self._home)
        if not listed:
            return []
        from supervisor.discovery.mcp.servers import expand_variables

        file = mcp_file(scope, self._project, self._home)
        found, faults = [], []
        for each in listed:
            if isinstance(each, SkippedExtension):
                self._faulty[each.name] = each.line
                faults += [each.line] if each.is_error else []
                continue
            made = expand_variables(each, os.environ)
            if isinstance(made, FoundExtension):
                found.append(made)
                continue
            line = self._faulty[each.manifest.name] = f"MCP server {each.manifest.name}: {file}: {made}"
            if each.manifest.is_enabled:
                faults.append(line)
        for line in faults if tells else ():
            self._failed = True
            complain(NAME, line)
        return found

    def _at(self, folder: Path) -> FoundExtension:
        folder = Path(os.path.abspath(folder.expanduser()))
        if not folder.is_dir():
            what = f"is a file; name its folder: {folder.parent}" if folder.is_file() else "no such folder"
            raise UnableError(f"{folder}: {what}", Status.USAGE)
        try:
            return FoundExtension(folder, read_manifest(folder), Scope.EXPLICIT)
        except ManifestError as error:
            raise UnableError(f"{folder}: {error}") from None

    def _read(self, places: Sequence[tuple[Path, Scope]], *, tells: bool = False) -> list[FoundExtension]:
        found = []
        for folder, scope in places:
            try:
                found.append(FoundExtension(folder, read_manifest(folder), scope))
            except ManifestError as error:
                if tells:
                    self._failed = True
                    complain(NAME, f"{folder}: {error}")
        return found

    # --- the actions -------------------------------------------------------------------------------------

    def trust(self, found: Sequence[FoundExtension]) -> int:
        if TOKEN in os.environ and not can_ask():
            raise UnableError(NOT_A_PERSON)
        everything = not self._ask
        for extension in found:
            judged = self._store.examine(extension.place, extension.manifest, extension)
            if judged.content is None:
                raise UnableError(judged.reason)
            if not self._as_json:
                for line in card(extension, judged, self._config, os.environ):
                    _print(line)
            if not everything and not judged.is_trusted:
                answer = answer_to("Trust it until it changes?", judged.content)
                if answer == "no":
                    complain(NAME, f"{extension.manifest.name} is not trusted")
                    self._failed = True
                    continue
                everything = answer == "all"
            self._store.trust(extension.place, extension.manifest, judged.content, found=extension)
            if self._as_json:
                print_json(self._record(extension, judged, TrustState.TRUSTED))
            else:
                was = " already, as it is" if judged.is_trusted else ""
                _print(f"trusted{was}: {extension.manifest.name}, content {judged.content.short}")
        return Status.ERROR.exit_code if self._failed else 0

    def offer(self) -> int:
        """Shows the extensions that wait for trust. On a terminal asks about each, as `trust`."""
        waiting = self._waiting()
        if self._as_json:
            for found, judged in waiting:
                print_json(self._record(found, judged, judged.standing))
        elif self._ask:
            return self.trust([found for found, _ in waiting]) if waiting else self._nothing_waits()
        else:
            for found, judged in waiting:
                for line in card(found, judged, self._config, os.environ):
                    _print(line)
                _print(f"waits   {judged.reason}: zot ext trust {shlex.quote(found.manifest.name)}")
        if waiting:
            complain(NAME, f"{self._whose(waiting)} not trusted yet: {self._ways(waiting)}")
            return Status.ERROR.exit_code
        return self._nothing_waits()

    def _whose(self, waiting: Sequence[tuple[FoundExtension, TrustJudgement]]) -> str:
        ours = sum(found.scope is Scope.PROJECT for found, _ in waiting)
        said = [f"{counted(ours, 'extension')} of {self._project}"] if ours else []
        if others := len(waiting) - ours:
            said.append(f"{counted(others, 'Copilot extension')} of yours")
        return " and ".join(said)

    def _ways(self, waiting: Sequence[tuple[FoundExtension, TrustJudgement]]) -> str:
        ours = sum(found.scope is Scope.PROJECT for found, _ in waiting)
        if not ours:
            return "zot ext trust NAME trusts one"
        return f"name one, or zot ext trust --project for {'all' if ours == len(waiting) else 'all of the project'}"

    def _nothing_waits(self) -> int:
        if not self._failed:
            complain(NAME, f"nothing waits for trust in {self._project}")
        return Status.ERROR.exit_code if self._failed else 0

    def revoke(self, what: str) -> int:
        entries = self._store.entries()
        by_path = key_of(Path(what).expanduser())
        parents = (
            self._project / ".zot" / "extensions", copilot_folder_of(self._project), self._project / PROJECT_FILE
        )  # fmt: skip
        here = tuple(key_of(parent) + os.sep for parent in parents)
        folders = [folder for folder, entry in entries.items() if what == entry.name or folder == by_path]
        if len(folders) > 1:
            folders = [folder for folder in folders if folder.startswith(here)] or folders
        if not folders:
            known = sorted({entry.name for entry in entries.values()})
            raise UnableError(no_such("trusted extension", what, known), Status.USAGE)
        if len(folders) > 1:
            listed = ", ".join(sorted(folders))
            raise UnableError(f"several extensions are called {what!r}; name a folder: {listed}", Status.USAGE)
        (folder,) = folders
        self._store.revoke(Path(folder))
        if self._as_json:
            print_json({"name": entries[folder].name, "folder": folder, "standing": TrustState.NEVER_SEEN.value})
        else:
            _print(f"no longer trusted: {entries[folder].name} ({folder})")
        return 0

    def list(self) -> int:
        """Prints all trusted extensions, of any project, the extensions of this project, and the Copilot extensions of
        the user."""
        entries = self._store.entries()
        mine = (*(each for each in self._read(self._places()) if each.needs_trust), *self._servers(Scope.PROJECT))
        here = {key_of(extension.place): extension for extension in mine}
        rows: list[dict[str, Any]] = []
        for folder in sorted({*entries, *here}):
            entry, found = entries.get(folder), here.get(folder)
            if found is None:
                try:
                    found = self._known_at(Path(folder))
                except UnableError:
                    assert entry is not None
                    rows.append({"name": entry.name, "folder": folder, "standing": GONE, "time": entry.time})
                    continue
            judged = self._store.examine(found.place, found.manifest, found)
            rows.append({**self._record(found, judged, judged.standing), "time": entry.time if entry else None})
        if self._as_json:
            for row in rows:
                print_json(row)
        elif rows:
            _print_table(rows)
        else:
            complain(NAME, "nothing is trusted, and this project has no extensions")
        return 0

    def _known_at(self, place: Path) -> FoundExtension:
        """The extension that a record is about: in a folder, or in a file of MCP servers. Raises `UnableError`."""
        if not place.parent.is_file():
            return self._at(place)
        from supervisor.discovery.mcp.servers import expand_variables

        file = place.parent
        for server in servers_in(file, Scope.EXPLICIT, file.parent):
            if isinstance(server, FoundExtension) and server.place == place:
                expanded = expand_variables(server, os.environ)
                if isinstance(expanded, FoundExtension):
                    return expanded
        raise UnableError(f"{file} has no server {place.name!r}")

    def _record(self, found: FoundExtension, judged: TrustJudgement, standing: TrustState) -> dict[str, Any]:
        manifest, content = found.manifest, judged.content
        return {
            "name": manifest.name,
            "folder": str(found.place),
            "standing": standing.value,
            "command": found.written,
            "data": list(manifest.data),
            "env": list(manifest.env),
            "env_policy": policy_of(manifest, self._config),
            "files": None if content is None else len(content.files),
            "bytes": None if content is None else content.bytes,
            "hash": None if content is None else content.hash,
            "changes": list(judged.changes),
        }


def _print_table(rows: list[dict[str, Any]]) -> None:
    cells = [("NAME", "STANDING", "SINCE", "FOLDER")]
    cells += [(row["name"], row["standing"], (row["time"] or "-")[:10], row["folder"]) for row in rows]
    print_table([printable(line).encode("utf-8", "replace").decode() for line in align_columns(cells)])


def _print(text: str) -> None:
    print(cut(text).encode("utf-8", "replace").decode())  # noqa: T201
