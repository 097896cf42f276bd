"""`--watch`: reloads an extension when its files change, starts new extensions and stops those that are removed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.discovery.discover import PROJECT_FILE, USER_FILE
from supervisor.home.copilot_folders import copilot_folders
from supervisor.install.record import advice, allowance_in_the_loop, newer_source, source_of
from supervisor.reload.file_watcher import FileWatcher
from wire.manifest import ManifestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from supervisor.extension.extension import Extension
    from supervisor.reload.reloader import Reloader
    from supervisor.supervisor import Supervisor
    from wire.control import ReloadOutcome

OF_SOURCE = "/source"
"""End of the name under which the source of an extension is watched. The name of an extension contains no slash."""
FILES_NAMED = 3
"""Maximum number of changed files that a line of the log names."""


def parents_of(project: Path, home: Path) -> tuple[Path, ...]:
    """The folders in which `discover` looks for extension folders."""
    return (project / ".zot" / "extensions", home / "extensions", *copilot_folders(project, home))


def mcp_files(project: Path | None, home: Path, named: Iterable[str]) -> tuple[Path, ...]:
    """The files in which `discover` looks for MCP servers; without a project, only the `named` files."""
    found = () if project is None else (project / PROJECT_FILE, home / USER_FILE)
    return (*(Path(path).expanduser().absolute() for path in named), *found)


def watch(
    supervisor: Supervisor,
    reloader: Reloader,
    parents: Iterable[Path],
    say: Callable[[str], None],
    *,
    files: Iterable[Path] = (),
) -> FileWatcher:
    """Begins to watch and returns the watcher. The caller stops the watcher before the supervisor. `parents` are
    folders that contain extension folders, `files` are files of MCP servers: only servers whose entries changed are
    reloaded. `say` gets lines for the user about skipped folders, about files that are no longer watched, and about
    installed extensions whose source has changed: zot runs the installed copy. All other outcomes have notices."""
    sources = _Sources(supervisor, say)
    skips = _Skips(say)

    def ended(outcomes: tuple[ReloadOutcome, ...]) -> None:
        for outcome in outcomes:
            watching.reloaded(outcome.name)
            sources.forget(outcome.name)

    def found_again(outcomes: tuple[ReloadOutcome, ...]) -> None:
        ended(outcomes)
        skips.tell(outcomes)

    def on_change(name: str, files: set[str]) -> None:
        if name.endswith(OF_SOURCE):
            sources.changed(name.removesuffix(OF_SOURCE))
            return
        is_off = supervisor.closed or supervisor.find(name).stays_halted  # a start runs the files as they are then
        named = [] if is_off else _of_program(supervisor.find(name), files)
        more = f" and {len(named) - FILES_NAMED} more" if len(named) > FILES_NAMED else ""
        if named:
            supervisor.find(name).log.add(f"changed: {', '.join(named[:FILES_NAMED])}{more}")
            reloader.begin(name, ended)

    def on_folders() -> None:
        if not supervisor.closed:
            changed = [each.name for each in supervisor.extensions if not each.stays_halted and _has_new_entry(each)]
            reloader.catch_up(found_again)
            for name in changed:
                reloader.begin(name, ended)

    watching = FileWatcher(
        supervisor.loop,
        folders=lambda: {
            **{extension.name: extension.found.folder for extension in _in_folders(supervisor)},
            **sources.folders(),
        },
        on_change=on_change,
        parents=parents,
        files=files,
        on_folders=on_folders,
        say=lambda name, line: say(f"zot: extension {name}: {line}"),
    )
    watching.start()
    return watching


def _in_folders(supervisor: Supervisor) -> list[Extension]:
    """The extensions that have a folder of their own: all but the embedding program's, and MCP servers."""
    return [each for each in supervisor.extensions if each.found.link is None and each.found.kind.has_folder]


def _of_program(extension: Extension, files: Iterable[str]) -> list[str]:
    """The files that the extension's manifest does not call data, sorted."""
    return sorted(path for path in files if not extension.manifest.is_data(path))


def _has_new_entry(extension: Extension) -> bool:
    """Whether this is an MCP server whose entry in its file has changed. False for a faulty, removed or disabled entry:
    `catch_up` handles these; and for a server of another host, which reloads it."""
    if extension.found.kind.has_folder or extension.found.link is not None:
        return False
    from supervisor.discovery.mcp.servers import is_same, read_again  # it is loaded: this server is from there

    try:
        now = read_again(extension.found, os.environ)
    except ManifestError:
        return False
    return now.manifest.is_enabled and not is_same(extension.found, now)


class _Skips:
    """Reports each skipped folder once, although each change of another folder finds it again."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._told: frozenset[str] = frozenset()

    def tell(self, outcomes: tuple[ReloadOutcome, ...]) -> None:
        skipped = [each for each in outcomes if each.outcome == "skipped"]
        lines = {f"zot: extension load: {each.name}: {each.reason}": None for each in skipped}
        for line in lines:
            if line not in self._told:
                self._say(line)
        self._told = frozenset(lines)


class _Sources:
    """The folders from which the extensions of a host were installed. Reports a change once until the extension is
    reloaded."""

    def __init__(self, supervisor: Supervisor, say: Callable[[str], None]) -> None:
        self._supervisor = supervisor
        self._say = say
        self._known: dict[str, tuple[Path, Path | None]] = {}
        """The folder and the source of each extension, by name, so that its record is not read at each scan."""
        self._told: set[str] = set()

    def folders(self) -> dict[str, Path]:
        """Returns the sources, by the names under which they are watched."""
        found = {}
        for extension in _in_folders(self._supervisor):
            folder = extension.found.folder
            if extension.name not in self._known or self._known[extension.name][0] != folder:
                self._known[extension.name] = (folder, source_of(folder))
            if (source := self._known[extension.name][1]) is not None:
                found[extension.name + OF_SOURCE] = source
        return found

    def forget(self, name: str) -> None:
        """Called when a reload of this extension has ended: it may have been installed again, from elsewhere."""
        self._known.pop(name, None)
        self._told.discard(name)

    def changed(self, name: str) -> None:
        if self._supervisor.closed or name in self._told or name not in self._known:
            return
        if (source := newer_source(self._known[name][0], allowance_in_the_loop())) is not None:
            self._told.add(name)
            self._say(f"zot: extension {name}: {advice(name, source)}")
