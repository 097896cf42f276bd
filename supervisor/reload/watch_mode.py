"""`--watch`: reloads an extension when its files change, starts new extensions and stops those that are removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.reload.file_watcher import FileWatcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from supervisor.reload.reloader import Reloader
    from supervisor.supervisor import Supervisor
    from wire.control import ReloadOutcome

FILES_NAMED = 3
"""Most changed files that a line of the log names."""


def parents_of(project: Path, home: Path) -> tuple[Path, ...]:
    """The folders in which `discover` looks for extension folders."""
    return (project / ".zot" / "extensions", home / "extensions")


def watch(
    supervisor: Supervisor, reloader: Reloader, parents: Iterable[Path], say: Callable[[str], None]
) -> FileWatcher:
    """Begins to watch and returns the watcher. The caller stops the watcher before the supervisor. `parents` are
    folders that contain extension folders. `say` gets lines for the user about skipped folders and about files that are
    no longer watched. All other outcomes have notices."""

    def ended(outcomes: tuple[ReloadOutcome, ...]) -> None:
        for outcome in outcomes:
            watching.reloaded(outcome.name)
            if outcome.outcome == "skipped":
                say(f"zot: extension load: {outcome.name}: {outcome.reason}")

    def on_change(name: str, files: set[str]) -> None:
        named = sorted(files)
        more = f" and {len(named) - FILES_NAMED} more" if len(named) > FILES_NAMED else ""
        if not supervisor.closed:
            supervisor.find(name).log.add(f"changed: {', '.join(named[:FILES_NAMED])}{more}")
            reloader.begin(name, ended)

    def on_folders() -> None:
        if not supervisor.closed:
            reloader.catch_up(ended)

    watching = FileWatcher(
        supervisor.loop,
        folders=lambda: {extension.name: extension.found.folder for extension in supervisor.extensions},
        on_change=on_change,
        parents=parents,
        on_folders=on_folders,
        say=lambda name, line: say(f"zot: extension {name}: {line}"),
    )
    watching.start()
    return watching
