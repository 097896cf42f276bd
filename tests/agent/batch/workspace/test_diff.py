"""The patch of what a run has changed in its copy of a folder."""

from __future__ import annotations

import errno
import os
import shutil

import pytest

from agent.batch.journal.errors import FolderError
from agent.batch.workspace import diff, tree
from agent.batch.workspace.copy import make_workspace
from agent.batch.workspace.diff import save_diff
from tests.support.workspace_content import applied, contents, git

ODD_NAMES = [b"\377.txt", b"new\nline", b'tab\t"quote"', b"\x1b[31mred", b"b\\ slash", b" space ", "\u2028é".encode()]


def change_much(workspace):
    (workspace / "src" / "main.py").write_text("print(1)\n" * 20 + "print(2)\n" + "print(1)\n" * 19)
    (workspace / "run.sh").chmod(0o644)
    (workspace / "data.bin").write_bytes(b"\0\2" * 1000)
    (workspace / "link").unlink()
    (workspace / "link").symlink_to("run.sh")
    (workspace / ".hidden").unlink()
    (workspace / "new dir").mkdir()
    (workspace / "new dir" / "é.txt").write_text("no line feed")
    (workspace / "new dir" / "empty").write_text("")


def test_a_patch_has_all_changes_and_applies(project, rundir, tmp_path):
    made = make_workspace(project, rundir, "a")
    change_much(made.path)
    assert save_diff(made, rundir, "a") == "diffs/a.diff"
    assert applied(project, rundir, "a", tmp_path) == contents(made.path)


def test_it_applies_where_a_folder_took_the_place_of_a_file(project, rundir, tmp_path):
    (project / "src" / "empty").rmdir()  # git has no empty folders, and deletes none
    made = make_workspace(project, rundir, "a")
    (made.path / "run.sh").unlink()
    (made.path / "run.sh").mkdir()
    (made.path / "run.sh" / "inner").write_text("x\n")
    shutil.rmtree(made.path / "src")
    (made.path / "src").write_text("now a file\n")
    save_diff(made, rundir, "a")
    found = applied(project, rundir, "a", tmp_path)
    assert found == contents(made.path)


def test_no_change_is_no_file(project, rundir):
    made = make_workspace(project, rundir, "a")
    (made.path / "run.sh").touch()
    (made.path / "another").mkdir()
    (rundir / "diffs").mkdir()
    (rundir / "diffs" / "a.diff").write_text("of an earlier attempt")
    assert save_diff(made, rundir, "a") == ""
    assert os.listdir(rundir / "diffs") == []


def test_a_change_that_keeps_size_and_time_is_found(project, rundir):
    made = make_workspace(project, rundir, "a")
    path = made.path / "run.sh"
    before = path.stat()
    path.write_text("#!/bin/sX\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert save_diff(made, rundir, "a")


def test_the_project_may_change_meanwhile(project, rundir):
    made = make_workspace(project, rundir, "a")
    (project / "run.sh").write_text("of somebody else\n")
    (project / "src" / "main.py").unlink()
    (made.path / "run.sh").write_text("of the run\n")
    save_diff(made, rundir, "a")
    text = (rundir / "diffs" / "a.diff").read_text()
    assert "-#!/bin/sh\n+of the run\n" in text
    assert "main.py" not in text


def test_commits_and_what_the_repository_ignores_do_not_count(project, rundir, tmp_path):
    git(project, "init", "-q")
    (project / ".gitignore").write_text("*.pyc\nbuild/\n")
    (project / "kept.pyc").write_text("tracked\n")
    git(project, "add", "-f", ".")
    git(project, "commit", "-qm", "all")
    made = make_workspace(project, rundir, "a")
    (made.path / "build").mkdir()
    (made.path / "build" / "x").write_text("x")
    (made.path / "new.pyc").write_text("x")
    assert save_diff(made, rundir, "a") == ""
    (made.path / "kept.pyc").write_text("changed\n")
    (made.path / "new.py").write_text("x\n")
    git(made.path, "add", ".")
    git(made.path, "commit", "-qm", "of the run")
    save_diff(made, rundir, "a")
    assert b"new.pyc" not in (rundir / "diffs" / "a.diff").read_bytes()
    found = applied(project, rundir, "a", tmp_path)
    assert (found["kept.pyc"][0], found["new.py"][0]) == (b"changed\n", b"x\n")


def test_without_git_new_files_that_are_ignored_are_in_it(project, rundir, monkeypatch):
    git(project, "init", "-q")
    (project / ".gitignore").write_text("*.pyc\n")
    made = make_workspace(project, rundir, "a")
    (made.path / "new.pyc").write_text("x")
    monkeypatch.setenv("PATH", str(rundir))
    save_diff(made, rundir, "a")
    assert b"new.pyc" in (rundir / "diffs" / "a.diff").read_bytes()


def test_a_patch_is_bounded_and_what_is_in_it_applies(project, rundir, tmp_path, monkeypatch):
    monkeypatch.setattr(diff, "SIZE_LIMIT", 20_000)
    made = make_workspace(project, rundir, "a")
    (made.path / "a_large").write_text("x\n" * 30_000)
    (made.path / "b\n\udcff").write_bytes(os.urandom(19_000))
    (made.path / "run.sh").write_text("small\n")
    save_diff(made, rundir, "a")
    text = (rundir / "diffs" / "a.diff").read_bytes()
    assert len(text) < 21_000
    assert text.startswith(
        b'# not in this patch: a_large: Larger than 19 KiB\n# not in this patch: "b\\n\\377": the patch would'
    )
    assert applied(project, rundir, "a", tmp_path)["run.sh"][0] == b"small\n"


def test_what_cannot_be_listed_is_named_and_does_not_count_as_deleted(project, rundir, monkeypatch):
    """A pipe in place of a file, and a folder that may not be read."""
    made = make_workspace(project, rundir, "a")
    (made.path / "run.sh").unlink()
    os.mkfifo(made.path / "run.sh")
    os.mkfifo(made.path / ".git")
    opens, refused = tree._open_folder, PermissionError(errno.EACCES, "Permission denied")
    hidden = [f"{made.path}/src"]
    monkeypatch.setattr(
        tree, "_open_folder",
        lambda root, folder: raised(refused) if f"{root}/{folder}" in hidden else opens(root, folder),
    )  # fmt: skip
    save_diff(made, rundir, "a")
    text = (rundir / "diffs" / "a.diff").read_text()
    assert text.startswith(
        "# not in this patch: src: Permission denied\ndiff --git a/run.sh b/run.sh\ndeleted file mode 100755\n"
    )
    assert text.count("diff --git") == 1
    hidden.append(f"{made.snapshot}/src")
    save_diff(made, rundir, "a")
    assert (rundir / "diffs" / "a.diff").read_text().startswith("diff --git"), "it could not be read before either"


def raised(error):
    raise error


def test_names_may_be_any_bytes(project, rundir, tmp_path):
    root = os.fsencode(project)
    for name in ODD_NAMES:
        os.mkdir(os.path.join(root, b"in " + name))
        with open(os.path.join(root, b"in " + name, name), "w") as file:
            file.write("a\n")
        os.symlink(b"to " + name, os.path.join(root, b"link " + name))
    os.mkfifo(os.path.join(root, b"pipe\n\377"))
    made = make_workspace(project, rundir, "a")
    assert made.notes == (f'{project}: not copied: "pipe\\n\\377": a named pipe',)
    assert make_workspace(project, rundir, "b").snapshot == made.snapshot
    for name in ODD_NAMES:
        path = os.path.join(os.fsencode(made.path), b"in " + name, name)
        with open(path, "a") as file:
            file.write("b\n")
        os.rename(path, path + b" moved")
        with open(path + b" new", "wb") as binary:
            binary.write(b"\0")
    save_diff(made, rundir, "a")
    (project / os.fsdecode(b"pipe\n\377")).unlink()
    assert applied(project, rundir, "a", tmp_path) == contents(made.path)
    text = (rundir / "diffs" / "a.diff").read_bytes()
    assert b"\x1b" not in text
    assert b'+++ "b/in \\377.txt/\\377.txt moved"\n' in text


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
