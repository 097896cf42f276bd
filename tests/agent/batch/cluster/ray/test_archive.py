"""The archive of an uploaded folder, and the copy that a node makes of it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from agent.batch.cluster.node.upload_copy import unpack
from agent.batch.cluster.ray import archive
from agent.batch.cluster.ray.archive import UploadError, make_archive

if TYPE_CHECKING:
    from pathlib import Path


def git(folder: Path, *words: str) -> None:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=m")
    subprocess.run(["git", *who, *words], cwd=folder, env=env, check=True, capture_output=True)


def put(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"of {path}")


@pytest.fixture
def root(tmp_path) -> Path:
    """A folder in no repository."""
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def repository(root) -> Path:
    git(root, "init")
    return root


def send(root: Path) -> dict[str, os.stat_result]:
    """All that the copy of a node has, by relative path."""
    copy = root.parent / "copy"
    copy.mkdir()
    with make_archive(str(root)) as file:
        file.seek(0)
        unpack(os.dup(file.fileno()), copy)
    return {str(path.relative_to(copy)): path.lstat() for path in copy.rglob("*")}


def files(root: Path) -> set[str]:
    return {path for path, found in send(root).items() if not os.path.isdir(root / path)}


def refusal(root: Path) -> str:
    with pytest.raises(UploadError) as told:
        make_archive(str(root))
    text = str(told.value)
    assert text.startswith(f"--upload {root}: ")
    assert text.isprintable()
    return text


def test_tracked_and_new_files_are_sent_and_what_any_rule_of_git_ignores_is_not(repository):
    put(repository, "a.py", "kept/b", "inner/secret", "inner/c", "out.log", "private", "gone", "forced.log")
    put(repository, ".env", "inner/.env", "node_modules/x")
    (repository / ".gitignore").write_text("*.log\n.env\n")
    (repository / "inner/.gitignore").write_text("secret\n")
    (repository / ".git/info/exclude").write_text("private\n")
    git(repository, "add", "a.py", "gone", "inner")
    git(repository, "add", "-f", "forced.log")
    (repository / "gone").unlink()
    expected = {"a.py", "kept/b", "inner/c", "forced.log", ".gitignore", "inner/.gitignore", "node_modules/x"}
    assert files(repository) == expected


def test_the_rules_above_a_folder_of_a_repository_hold_in_it(repository):
    (repository / ".gitignore").write_text(".env\n/part/build/\n")
    put(repository, "part/a", "part/.env", "part/build/b", "elsewhere")
    (repository / "part").rename(repository / "moved")
    (repository / "moved").rename(repository / "part")
    with make_archive(str(repository / "part")) as file:
        file.seek(0)
        (repository.parent / "copy").mkdir()
        unpack(os.dup(file.fileno()), repository.parent / "copy")
    assert [path.name for path in (repository.parent / "copy").rglob("*")] == ["a"]


def test_submodules_and_repositories_inside_follow_their_own_rules(repository, tmp_path):
    module = tmp_path / "module"
    module.mkdir()
    git(module, "init")
    put(module, "of_module")
    (module / ".gitignore").write_text("secret\n")
    git(module, "add", ".")
    git(module, "commit", "-m", "m")
    git(repository, "submodule", "add", str(module), "sub")
    git(repository, "init", "nested")
    (repository / "nested/.gitignore").write_text("*.key\n")
    put(repository, "sub/secret", "nested/a", "nested/b.key")
    expected = {".gitmodules", "sub/of_module", "sub/.gitignore", "nested/a", "nested/.gitignore"}
    assert files(repository) == expected


def test_in_no_repository_each_gitignore_counts_all_the_same(root):
    put(root, "a", "b/c", "b/.env", ".venv/x", "b/__pycache__/y", "node_modules/z")
    (root / "b/.gitignore").write_text(".env\n")
    assert files(root) == {"a", "b/c", "b/.gitignore"}


def test_the_folders_of_batches_are_not_sent(repository):
    put(repository, "runs/batch.json", "runs/journal.jsonl", "runs/events/t1", "a", "other/batch.json")
    assert files(repository) == {"a", "other/batch.json"}


def test_modes_times_links_and_odd_names_stay(repository):
    put(repository, "run.sh", "read only", "wide/é\n*", "deep/er/x")
    (repository / "run.sh").chmod(0o755)
    (repository / "read only").chmod(0o444)
    (repository / "deep").chmod(0o555)
    for link, target in {"deep-link": "deep/er", "broken": "nowhere", "self": "."}.items():
        (repository / link).symlink_to(target)
    os.utime(repository / "run.sh", (1e9, 1e9))
    os.utime(repository / "wide", (1e9 + 0.5, 1e9 + 0.5))
    copy = repository.parent / "copy"
    found = send(repository)
    assert {"run.sh", "read only", "wide", "wide/é\n*", "deep", "deep/er", "deep/er/x"} <= found.keys()
    assert [found[path].st_mode & 0o7777 for path in ("run.sh", "read only", "deep")] == [0o755, 0o444, 0o555]
    assert [found[path].st_mtime for path in ("run.sh", "wide")] == [1e9, 1e9 + 0.5]
    assert [os.readlink(copy / link) for link in ("deep-link", "broken", "self")] == ["deep/er", "nowhere", "."]
    assert (copy / "deep/er/x").read_text() == "of deep/er/x"
    (copy / "deep").chmod(0o700)
    (repository / "deep").chmod(0o700)


def test_what_cannot_be_sent_is_named_at_once(repository):
    put(repository, "a", "dir/b")
    (repository / "out").symlink_to("../..")
    (repository / "dir/absolute").symlink_to("/etc/passwd")
    open(os.fsencode(repository) + b"/bad\xff", "w").close()
    text = refusal(repository)
    assert '"bad\\377" has a name that is not UTF-8' in text
    assert "out is a link that leads out of the folder, to ../.." in text
    assert "dir/absolute is a link to the absolute path /etc/passwd" in text
    assert text.endswith(": change them, or name them in .gitignore")
    (repository / ".gitignore").write_text("out\nabsolute\nbad*\n")
    assert files(repository) == {"a", "dir/b", ".gitignore"}


def test_only_some_faults_are_shown(repository):
    for number in range(9):
        (repository / f"l{number}").symlink_to("/nowhere")
    assert "; 4 more: change them" in refusal(repository)


def test_a_file_that_may_not_be_read_is_named(repository, monkeypatch):
    put(repository, "a", "b")
    monkeypatch.setattr(os, "access", lambda path, mode: not path.endswith("/b"))
    assert "b may not be read: change them" in refusal(repository)


def test_a_folder_that_is_too_large_is_told_with_its_size(repository, monkeypatch):
    put(repository, "small", "large/file")
    os.truncate(repository / "large/file", 3 * 2**30)
    text = refusal(repository)
    assert (
        "it has 3.0 GiB in 2 files, and 2.0 GiB are the most (the largest: large/file 3.0 GiB, small 0.0 GiB)" in text
    )


def test_an_empty_folder_and_one_that_is_ignored_are_told(repository):
    assert "it is empty, or .gitignore leaves out all" in refusal(repository)
    put(repository, "a")
    (repository / ".git/info/exclude").write_text("*\n")
    assert "it is empty, or .gitignore leaves out all" in refusal(repository)


def test_without_git_it_is_named(root, monkeypatch):
    put(root, "a")
    monkeypatch.setenv("PATH", str(root))
    assert "git is not installed" in refusal(root)


def test_a_repository_that_git_cannot_read_is_named(repository):
    put(repository, "a")
    (repository / ".git/config").write_text("[core\n")
    assert "git, which tells what .gitignore leaves out, says: bad config" in refusal(repository)


def test_a_full_disk_is_named(repository, monkeypatch):
    put(repository, "a")

    def fail(*_given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive, "_add", fail)
    assert "no room for its archive in " in refusal(repository)


def test_a_file_that_vanishes_is_told(repository, monkeypatch):
    put(repository, "a")
    check = archive._check

    def check_and_remove(*given: object) -> None:
        check(*given)
        (repository / "a").unlink()

    monkeypatch.setattr(archive, "_check", check_and_remove)
    assert "it cannot be read, or changes: " in refusal(repository)
