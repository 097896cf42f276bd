"""File changes as editors and tools make them, on a clock of the test."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.loop.loop import Loop
from supervisor.reload.file_watcher import LOOK_S, QUIET_S, SELF_MADE_TIMES, FileWatcher, look

if TYPE_CHECKING:
    from pathlib import Path


class Watched:
    """A watched folder of the extension `one`, and what the watcher said."""

    def __init__(self, tmp_path: Path) -> None:
        self.now = 0.0
        self.loop = Loop(lambda: self.now)
        self.folder = tmp_path / "one"
        self.folder.mkdir()
        (self.folder / "main.py").write_text("1")
        self.folders = {"one": self.folder}
        self.parent = tmp_path / "extensions"
        self.changes: list[tuple[str, set[str]]] = []
        self.came_or_went = 0
        self.said: list[str] = []
        self.watching = FileWatcher(
            self.loop,
            folders=lambda: self.folders,
            on_change=lambda name, files: self.changes.append((name, files)),
            parents=[self.parent],
            on_folders=self._count,
            say=lambda name, line: self.said.append(f"{name}: {line}"),
        )
        self.watching.start()

    def _count(self) -> None:
        self.came_or_went += 1

    def look(self, after: float = LOOK_S) -> None:
        """Time passes, and the watcher looks."""
        self.now += after + 10.0 * (after == LOOK_S)  # however long a look takes on this machine
        self.loop.run_until(lambda: False, self.now)

    def settle(self) -> list[tuple[str, set[str]]]:
        """The watcher looks until no change follows; returns the changes that it told."""
        self.look()
        self.look()
        found, self.changes = self.changes, []
        return found


@pytest.fixture
def watched(tmp_path: Path):
    watched = Watched(tmp_path)
    yield watched
    watched.watching.stop()
    watched.loop.close()


def test_a_change_is_told_once_it_has_come_to_rest(watched: Watched):
    path = watched.folder / "main.py"
    path.write_text("22")
    watched.look()
    assert watched.changes == []
    path.write_text("333")
    watched.look()
    assert watched.changes == [], "it goes on changing"
    watched.look()
    assert watched.changes == [("one", {"main.py"})]
    watched.look()
    watched.look()
    assert len(watched.changes) == 1


def test_it_looks_sooner_once_something_has_changed(watched: Watched):
    (watched.folder / "main.py").write_text("22")
    watched.look()
    timer = watched.watching._timer
    assert timer is not None
    assert timer.when - watched.now < LOOK_S
    assert timer.when - watched.now > QUIET_S * 0.99


def replaces(folder: Path) -> None:
    (folder / ".main.py.new").write_text("1")
    os.replace(folder / ".main.py.new", folder / "main.py")


def moves_away_and_back(folder: Path) -> None:
    os.rename(folder, folder.with_name("elsewhere"))
    folder.mkdir()
    (folder / "main.py").write_text("1")


CHANGES: dict[str, Any] = {
    "written": lambda folder: (folder / "main.py").write_text("22"),
    "replaced by one of the same size": replaces,
    "new": lambda folder: (folder / "other.py").write_text("1"),
    "gone": lambda folder: (folder / "main.py").unlink(),
    "below": lambda folder: [(folder / "lib").mkdir(), (folder / "lib" / "x.js").write_text("")],
    "the manifest": lambda folder: (folder / "extension.json").write_text("{}"),
    "the folder itself": moves_away_and_back,
    "a folder that is gone": lambda folder: os.rename(folder, folder.with_name("elsewhere")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_a_change(watched: Watched, change: Any):
    change(watched.folder)
    assert [name for name, _ in watched.settle()] == ["one"]


NO_CHANGES = [
    "node_modules/a/index.js", ".git/HEAD", "__pycache__/main.pyc", "data/x.py", ".main.py.swp", "main.py~", "x.log",
    "todo.json", "state.sqlite3", "4913", ".#main.py",
]  # fmt: skip


@pytest.mark.parametrize("path", NO_CHANGES)
def test_some_files_are_no_change(watched: Watched, path: str):
    made = watched.folder / path
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text("1")
    assert watched.settle() == []


def test_links_to_files_are_followed_and_to_folders_are_not(watched: Watched, tmp_path: Path):
    (tmp_path / "shared.py").write_text("1")
    (watched.folder / "link.py").symlink_to(tmp_path / "shared.py")
    (watched.folder / "up").symlink_to(watched.folder)
    assert watched.settle() == [("one", {"link.py"})]
    (tmp_path / "shared.py").write_text("22")
    assert watched.settle() == [("one", {"link.py"})]


def test_only_a_bounded_number_of_files_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("supervisor.reload.file_watcher.FILES_LIMIT", 3)
    for number in range(5):
        (tmp_path / f"f{number}.py").write_text("")
    assert list(look(tmp_path)) == ["f0.py", "f1.py", "f2.py"]


def test_a_file_that_the_extension_writes_itself_is_let_alone_after_some_reloads(watched: Watched):
    reloads = 0
    for number in range(SELF_MADE_TIMES + 3):
        (watched.folder / "made.txt").write_text("x" * number)
        watched.look(0.6)
        watched.look(0.6)
        reloads += len(watched.changes)
        watched.changes.clear()
        watched.watching.reloaded("one")
    assert 1 <= reloads <= SELF_MADE_TIMES
    assert watched.said == ["one: made.txt changes after each reload, and is no longer watched: keep state in data_dir"]
    (watched.folder / "main.py").write_text("22")
    assert watched.settle() == [("one", {"main.py"})]


def test_extensions_that_come_and_go_where_they_are_looked_for(watched: Watched):
    new = watched.parent / "new"
    new.mkdir(parents=True)
    watched.settle()
    assert watched.came_or_went == 0, "without a manifest it is none"
    (new / "extension.json").write_text("{}")
    watched.settle()
    assert watched.came_or_went == 1
    os.rename(new, watched.parent / "other")
    watched.settle()
    assert watched.came_or_went == 2
    assert watched.changes == []


def test_a_change_before_the_extension_is_known_is_no_change(watched: Watched, tmp_path: Path):
    two = tmp_path / "two"
    two.mkdir()
    (two / "main.py").write_text("1")
    watched.folders["two"] = two
    assert watched.settle() == []
    (two / "main.py").write_text("22")
    assert watched.settle() == [("two", {"main.py"})]
