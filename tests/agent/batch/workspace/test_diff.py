"""The patch of a workspace that a run has put something else into the place of."""

from __future__ import annotations

import os
import shutil

import pytest

from agent.batch.journal.errors import FolderError
from agent.batch.workspace import diff
from agent.batch.workspace.copy import make_workspace
from agent.batch.workspace.diff import save_diff


def to_link(path, elsewhere):
    path.rename(path.with_name("moved"))
    path.symlink_to(elsewhere)


def to_pipe(path, _elsewhere):
    shutil.rmtree(path)
    os.mkfifo(path)


@pytest.mark.parametrize("change", [to_link, to_pipe])
@pytest.mark.parametrize("what", ["path", "snapshot", "workspaces", ".snapshots"])
def test_nothing_but_the_folders_of_the_batch_is_read(tmp_path, what, change):
    """A link to `/` would have the whole system read, and a part of it saved."""
    for name in ("project", "elsewhere", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(f"of {name}\n")
    made = make_workspace(tmp_path / "project", tmp_path / "out", "a")
    above = {"workspaces": made.path.parent, ".snapshots": made.snapshot.parent}
    place = above.get(what) or getattr(made, what)
    change(place, tmp_path / "elsewhere")
    with pytest.raises(FolderError, match=f"{place.name}: is a (link|named pipe), and the batch has a folder"):
        save_diff(made, tmp_path / "out", "a")
    assert list((tmp_path / "out" / "diffs").iterdir()) == []


def test_new_files_that_do_not_fit_are_named_unread(tmp_path, monkeypatch):
    """A run may leave thousands, as in `node_modules`: to make the patch of each took minutes."""
    for name in ("project", "out"):
        (tmp_path / name).mkdir()
    made = make_workspace(tmp_path / "project", tmp_path / "out", "a")
    for name in ("a", "b", "c", "d"):
        (made.path / name).write_text("x\n" * (50 if name == "d" else 300))
    patched, patch = [], diff.file_patch
    monkeypatch.setattr(diff, "SIZE_LIMIT", 1500)
    monkeypatch.setattr(diff, "file_patch", lambda path, *sides: patched.append(path) or patch(path, *sides))
    text = (tmp_path / "out" / save_diff(made, tmp_path / "out", "a")).read_text()
    assert patched == [b"a", b"d"]
    assert text.count("# not in this patch: ") == 2
    assert text.count("+++ ") == 2
