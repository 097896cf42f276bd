"""The workspace of a session: what extensions read and write stays in its folder."""

from __future__ import annotations

import os
import time

import pytest

from agent.engine.host_calls.workspace import FILE_BYTES, LISTED, SessionWorkspace, SessionWorkspaceError
from agent.sessions.workspaces import LEFT_S, has_files, workspace_of

OUTSIDE = ["../plan.md", "files/../../x", "/etc/passwd", "..", "a\0b", "", "/", "a/" * 40 + "b", "x" * 5000]


@pytest.fixture
def workspace(tmp_path):
    made = SessionWorkspace(tmp_path / "home", "s-1")
    made.make()
    return made


def test_what_was_written_can_be_read_listed_and_removed(workspace):
    workspace.write("plan.md", "1. look\n")
    workspace.write("files/deep/a.txt", "a")
    workspace.write("files/b.txt", "b")
    workspace.write("files/b.txt", "better")
    assert workspace.read("plan.md") == (str(workspace.path / "plan.md"), "1. look\n")
    assert workspace.read("./files//b.txt")[1] == "better"
    assert workspace.files("files") == ["b.txt", "deep/a.txt"]
    assert workspace.files("") == ["files/b.txt", "files/deep/a.txt", "plan.md"]
    workspace.remove("plan.md")
    workspace.remove("plan.md")
    assert workspace.read("plan.md")[1] is None
    assert workspace.files("nothing here") == []
    assert workspace.path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_out(workspace, tmp_path, path):
    for use in (workspace.read, workspace.remove, lambda name: workspace.write(name, "x")):
        with pytest.raises(SessionWorkspaceError):
            use(path)
    assert not (tmp_path / "home" / "workspaces" / "plan.md").exists()


def test_no_link_leads_out(workspace, tmp_path):
    (tmp_path / "secret").write_text("s")
    os.symlink(tmp_path, workspace.path / "out")
    os.symlink(tmp_path / "secret", workspace.path / "plan.md")
    for path in ("out/secret", "plan.md"):
        for use in (workspace.read, workspace.remove, lambda name: workspace.write(name, "x")):
            with pytest.raises(SessionWorkspaceError, match="there is a link on the way"):
                use(path)
    assert workspace.files("") == []
    with pytest.raises(SessionWorkspaceError):
        workspace.files("out")
    assert (tmp_path / "secret").read_text() == "s"


def test_a_pipe_or_a_folder_in_the_place_of_a_file_blocks_nothing(workspace):
    os.mkfifo(workspace.path / "plan.md")
    with pytest.raises(SessionWorkspaceError, match=r"plan\.md: cannot be read"):
        workspace.read("plan.md")
    with pytest.raises(SessionWorkspaceError, match="it is there, and is no file"):
        workspace.write("plan.md", "x")
    (workspace.path / "files").mkdir()
    with pytest.raises(SessionWorkspaceError, match="no file"):
        workspace.write("files", "x")
    workspace.write("a", "x")
    with pytest.raises(SessionWorkspaceError, match="a/b: cannot be written"):
        workspace.write("a/b", "x")
    assert workspace.read("a/b")[1] is None


def test_files_are_bounded(workspace):
    with pytest.raises(SessionWorkspaceError, match="1,048,577 bytes; a file may have 1,048,576"):
        workspace.write("big", "x" * (FILE_BYTES + 1))
    (workspace.path / "big").write_bytes(b"x" * (FILE_BYTES + 1))
    with pytest.raises(SessionWorkspaceError, match="Larger than 1 MiB"):
        workspace.read("big")
    for number in range(LISTED + 5):
        (workspace.path / f"f{number:05}").touch()
    assert len(workspace.files("")) == LISTED


def test_a_folder_without_files_does_not_stay(tmp_path):
    home = tmp_path / "home"
    (tmp_path / "s.jsonl").touch()
    workspace = SessionWorkspace(home, "s-1", tmp_path / "s.jsonl")
    workspace.make()
    (workspace.path / "files" / "deep").mkdir(parents=True)
    assert not has_files(workspace.path)
    assert workspace.close() == ""
    assert not (home / "workspaces").exists()


def test_files_stay_with_a_session_that_is_kept_only(tmp_path):
    home = tmp_path / "home"
    (tmp_path / "s.jsonl").touch()
    for session, file in (("kept", "s.jsonl"), ("never-written", "other.jsonl"), ("unkept", None)):
        workspace = SessionWorkspace(home, session, file and tmp_path / file)
        workspace.write("plan.md", "x")
        workspace.close()
    assert [entry.name for entry in (home / "workspaces").iterdir()] == ["kept"]


def test_what_killed_runs_have_left_is_removed_once_it_is_old(tmp_path):
    home = tmp_path / "home"
    (tmp_path / "s.jsonl").touch()
    of_runs = {name: SessionWorkspace(home, name) for name in ("old", "new")}
    kept = SessionWorkspace(home, "kept", tmp_path / "s.jsonl")
    for workspace in (*of_runs.values(), kept):
        workspace.write("plan.md", "x")
    for workspace in (of_runs["old"], kept):
        os.utime(workspace.path, (0, time.time() - LEFT_S - 60))
    SessionWorkspace(home, "next").make()
    assert sorted(entry.name for entry in (home / "workspaces").iterdir()) == ["kept", "run-new", "run-next"]


def test_a_workspace_that_was_never_made_is_no_folder(tmp_path):
    assert SessionWorkspace(tmp_path / "home", "s-1").close() == ""
    assert not (tmp_path / "home").exists()


def test_a_workspace_that_cannot_be_made_says_why(tmp_path):
    (tmp_path / "home").write_text("a file")
    workspace = SessionWorkspace(tmp_path / "home", "s-1")
    assert workspace.make_once().endswith("s-1: the workspace cannot be made: Not a directory")
    assert workspace.make_once() == "", "it is said once"
    with pytest.raises(SessionWorkspaceError, match=r"s-1: the workspace cannot be made: Not a directory"):
        workspace.write("plan.md", "x")


@pytest.mark.parametrize("session", ["../../x", "", ".", "a/b", "x" * 300, "-x", "\udcff"])
def test_an_id_from_elsewhere_names_no_other_folder(tmp_path, session):
    place = workspace_of(tmp_path, session)
    assert place.parent == tmp_path / "workspaces"
    assert len(place.name) == 64


def test_a_list_looks_at_so_many_entries_and_no_more(workspace, monkeypatch):
    """An extension may fill its workspace with folders, and each look takes time in which the others wait."""
    looks = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: looks.append(folder) or scandir(folder))
    monkeypatch.setattr("agent.engine.host_calls.workspace.LOOKS", 10)
    for number in range(30):
        (workspace.path / "a" / f"{number}" / "b").mkdir(parents=True)
        (workspace.path / f"{number}.txt").touch()
    assert len(workspace.files("")) <= 10
    assert workspace.files("a") == []
    assert len(looks) <= 2 * 11
