"""`--watch`: an extension is reloaded when its files change, and one that comes or goes is started or stopped."""

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


def parents_of(project: Path, home: Path) -> tuple[Path, ...]:
    """Where `discover` looks for extension folders."""
    return (project / ".zot" / "extensions", home / "extensions")


def watch(
    supervisor: Supervisor, reloader: Reloader, parents: Iterable[Path], say: Callable[[str], None]
) -> FileWatcher:
    """Begins at once; `stop` it before the supervisor is. `parents` are folders of extension folders, `say` gets lines
    for the user about what is skipped; of all else the extensions' own notices tell."""

    def ended(outcomes: tuple[ReloadOutcome, ...]) -> None:
        for one in outcomes:
            watching.reloaded(one.name)
            if one.outcome == "skipped":
                say(f"zot: extension load: {one.name}: {one.reason}")

    def on_change(name: str, files: set[str]) -> None:
        named = sorted(files)
        more = f" and {len(named) - FILES_NAMED} more" if len(named) > FILES_NAMED else ""
        if not supervisor.closed:
            supervisor.find(name).log.note(f"changed: {', '.join(named[:FILES_NAMED])}{more}")
            reloader.begin(name, ended)

    def on_folders() -> None:
        if not supervisor.closed:
            reloader.catch_up(ended)

    watching = FileWatcher(
        supervisor.loop,
        folders=lambda: {one.name: one.found.folder for one in supervisor.extensions},
        on_change=on_change,
        parents=parents,
        on_folders=on_folders,
        say=lambda name, line: say(f"zot: extension {name}: {line}"),
    )
    watching.start()
    return watching
