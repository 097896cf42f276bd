"""An installation is whole, or leaves nothing."""

from __future__ import annotations

import json
import os
import socket
import stat
from datetime import UTC, datetime

import pytest

from supervisor.install import staging_folder, tree
from supervisor.install.errors import ConflictError, InstallError
from supervisor.install.git import GitError
from supervisor.install.install import install
from supervisor.install.installed_extension import is_trusted
from supervisor.install.manage import switch
from supervisor.install.record import read_record
from supervisor.install.source import GitSource, LocalSource, parse_source
from tests.support.install_sources import Scope, commit, contents, git, manifest_in, repository, shelves, source

NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def here(tmp_path):
    return shelves(tmp_path)


def test_a_folder(here, tmp_path):
    made = source(tmp_path / "any-name", description="Guards", env=["SOME_KEY"])
    (made / "lib").mkdir(mode=0o750)
    (made / "lib" / "a.txt").write_text("a")
    (made / "lib" / "link").symlink_to("../run")
    (made / "lib" / "nowhere").symlink_to("../later")
    (made / "node_modules" / "x").mkdir(parents=True)
    (made / "node_modules" / "x" / "index.js").write_text("")
    (made / "run").chmod(0o4755)
    for left_out in (".git", "__pycache__", "lib/__pycache__"):
        (made / left_out).mkdir()
        (made / left_out / "x").write_text("x")
    arrival = install(LocalSource(made), Scope.GLOBAL, here, now=lambda: NOON)
    folder = here.home / "extensions" / "guard"
    assert arrival.now.folder == folder
    assert (arrival.before, arrival.warnings) == (None, ())
    assert contents(folder.parent) == ["guard"]
    record = read_record(folder)
    assert record is not None
    assert record.files == (
        "extension.json", "lib/a.txt", "lib/link", "lib/nowhere", "node_modules/x/index.js", "run",
    )  # fmt: skip
    assert (record.source, record.kind, record.ref, record.commit) == (str(made), "path", None, None)
    assert (record.version, record.installed_at) == ("1.0", "2026-01-02T12:00:00Z")
    assert record.content_hash == record.source_hash == tree.content_hash(folder, record.files)
    assert tree.files(folder) == record.files
    assert os.readlink(folder / "lib" / "link") == "../run"
    assert stat.S_IMODE((folder / "run").stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "lib").stat().st_mode) == 0o750
    assert (folder / "run").stat().st_mtime_ns == (made / "run").stat().st_mtime_ns


def test_into_the_project_from_within_it_and_trusted(here):
    source(here.project)
    arrival = install(LocalSource(here.project), Scope.PROJECT, here)
    assert arrival.is_trusted
    assert is_trusted(arrival.now, here.home)
    folder = here.project / ".zot" / "extensions" / "guard"
    assert sorted(os.listdir(folder)) == [".zot", ".zot-install.json", "extension.json", "run"]
    assert tree.files(folder) == ("extension.json", "run")
    (folder / "run").write_text("something else")
    assert not is_trusted(arrival.now, here.home)


def test_a_repository_by_branch_tag_and_commit(here, tmp_path):
    made = repository(tmp_path / "repo")
    first = git(made, "rev-parse", "HEAD")
    git(made, "tag", "v1")
    git(made, "checkout", "--quiet", "-b", "feature/x")
    source(made, version="2.0")
    second = commit(made)
    git(made, "checkout", "--quiet", "main")
    for ref, expected in ((None, first), ("v1", first), ("feature/x", second), (second, second), (second[:9], second)):
        arrival = install(GitSource(f"file://{made}", ref), Scope.GLOBAL, here, force=True)
        assert arrival.now.record is not None
        assert (arrival.now.record.commit, arrival.now.record.ref) == (expected, ref)
        assert sorted(os.listdir(arrival.now.folder)) == [".zot-install.json", "extension.json", "run"]


def test_nobody_else_may_write_to_what_is_installed(here, tmp_path):
    copied = source(tmp_path / "copied", name="copied")
    (copied / "lib").mkdir()
    for path in (copied, copied / "lib", copied / "run", copied / "extension.json"):
        path.chmod(0o777)
    cloned = repository(tmp_path / "cloned", name="cloned")
    mask = os.umask(0)
    try:
        for made in (LocalSource(copied), GitSource(f"file://{cloned}")):
            folder = install(made, Scope.GLOBAL, here).now.folder
            for path in (folder, *folder.rglob("*")):
                assert path.stat().st_mode & 0o7022 == 0, path
    finally:
        os.umask(mask)


@pytest.mark.parametrize(
    ("ref", "complaint"),
    [("nope", "Remote branch nope not found"), ("0123456789" * 4, "git says"), ("abcdef1", "git says")],
)
def test_a_ref_that_is_not_there(here, tmp_path, ref, complaint):
    made = repository(tmp_path / "repo")
    with pytest.raises(GitError, match=complaint):
        install(GitSource(f"file://{made}", ref), Scope.GLOBAL, here)
    assert not here.home.exists()


def test_credentials_are_in_no_message(here, tmp_path):
    url = "https://me:s3cr3t@127.0.0.1:9/guard"
    with pytest.raises(GitError) as caught:
        install(parse_source(url, tmp_path), Scope.GLOBAL, here)
    assert "s3cr3t" not in str(caught.value)
    assert "https://127.0.0.1:9/guard" in str(caught.value)
    assert not here.home.exists()


def test_a_url_that_git_names_with_more_than_is_shown_is_still_named(tmp_path):
    with pytest.raises(InstallError, match=r"unable to access 'https://127\.0\.0\.1:9/guard/?'"):
        install(parse_source("https://127.0.0.1:9/guard#part", tmp_path), Scope.GLOBAL, shelves(tmp_path))


def test_git_of_another_repository_is_not_disturbed(here, tmp_path, monkeypatch):
    """A git hook sets the variables of its own repository."""
    made, other = repository(tmp_path / "repo"), repository(tmp_path / "other", name="other")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    arrival = install(GitSource(f"file://{made}"), Scope.GLOBAL, here)
    assert arrival.now.name == "guard"


# --- what is refused ------------------------------------------------------------------------------------------


def a_fifo(folder):
    os.mkfifo(folder / "pipe")
    return "pipe: is a named pipe"


def a_socket(folder):
    here = os.getcwd()
    os.chdir(folder)  # its path must be short
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind("s")
    os.chdir(here)
    return "s: is a socket"


def a_link_out(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "out").symlink_to("../../elsewhere")
    return "sub/out: is a link out of the folder, to ../../elsewhere"


def a_link_out_by_another_link(folder):
    (folder / "up").symlink_to("..")
    return "up: is a link out of the folder"


def an_absolute_link(folder):
    (folder / "abs").symlink_to("/etc/passwd")
    return "abs: is a link to the absolute path /etc/passwd"


def a_name_of_no_encoding(folder):
    open(os.fsencode(folder) + b"/b\xff", "w").close()
    return "not valid UTF-8"


def no_manifest(folder):
    (folder / "extension.json").rename(folder / "other.json")
    return "no extension.json in it"


def only_below(folder):
    (folder / "extension.json").unlink()
    source(folder / "inner")
    return "no extension.json in it, but in inner"


def no_json(folder):
    (folder / "extension.json").write_text("{")
    return "parse manifest"


def a_bad_name(folder):
    source(folder, name="../evil")
    return "name must be"


def no_program(folder):
    (folder / "extension.json").write_text('{"name": "x"}')
    return "exec"


REFUSED = [
    a_fifo, a_socket, a_link_out, a_link_out_by_another_link, an_absolute_link, a_name_of_no_encoding, no_manifest,
    only_below, no_json, a_bad_name, no_program,
]  # fmt: skip


@pytest.mark.parametrize("spoil", REFUSED, ids=lambda spoil: spoil.__name__)
def test_refused_without_a_trace(here, tmp_path, spoil):
    made = source(tmp_path / "made")
    complaint = spoil(made)
    with pytest.raises(InstallError) as caught:
        install(LocalSource(made), Scope.GLOBAL, here)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not here.home.exists()


@pytest.mark.parametrize(
    "spoil", [a_link_out, an_absolute_link, no_manifest, a_bad_name], ids=lambda spoil: spoil.__name__
)
def test_a_repository_is_held_to_the_same(here, tmp_path, spoil):
    made = repository(tmp_path / "repo")
    complaint = spoil(made)
    commit(made)
    with pytest.raises(InstallError) as caught:
        install(GitSource(f"file://{made}"), Scope.GLOBAL, here)
    assert complaint in str(caught.value)
    assert ".new/" not in str(caught.value)
    assert not here.home.exists()


def test_a_full_disk_leaves_nothing(here, tmp_path, monkeypatch):
    made = source(tmp_path / "made")
    (made / "big").write_bytes(b"x" * 5000)
    write = os.write

    def full(fd, data):
        if len(data) > 4000:
            raise OSError(28, "No space left on device")
        return write(fd, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(InstallError, match="No space left on device; nothing was changed"):
        install(LocalSource(made), Scope.GLOBAL, here)
    assert not here.home.exists()


@pytest.mark.parametrize("moment", ["syncfs", "rename"])
def test_an_interruption_leaves_nothing(here, tmp_path, monkeypatch, moment):
    made = source(tmp_path / "made")
    source(here.home / "extensions" / "other", name="other")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(
        *((staging_folder.StagingFolder, "flush") if moment == "syncfs" else (os, "rename")), interrupted
    )
    with pytest.raises(KeyboardInterrupt):
        install(LocalSource(made), Scope.GLOBAL, here)
    assert contents(here.home / "extensions") == ["other"]


# --- what is there already ------------------------------------------------------------------------------------


def test_a_name_that_is_taken(here, tmp_path):
    made = LocalSource(source(tmp_path / "made"))
    install(made, Scope.GLOBAL, here)
    with pytest.raises(ConflictError, match=r"installed already: .*zot ext update guard .* --force") as caught:
        install(made, Scope.GLOBAL, here)
    assert str(tmp_path / "made") in str(caught.value)
    install(made, Scope.PROJECT, here)
    assert install(made, Scope.GLOBAL, here, force=True).before is not None


@pytest.mark.parametrize("force", [False, True])
def test_some_folders_are_not_replaced_even_by_force(here, tmp_path, force):
    parent = here.home / "extensions"
    made = LocalSource(source(tmp_path / "made"))
    source(parent / "guard-dev", name="guard")
    with pytest.raises(ConflictError, match=r"taken by .*guard-dev .*zot ext remove guard-dev first"):
        install(made, Scope.GLOBAL, here, force=force)
    (parent / "guard-dev").rename(parent / "other")
    source(parent / "other", name="other")
    (parent / "guard").symlink_to("other")
    with pytest.raises(ConflictError, match="is a link to other; zot ext remove guard first"):
        install(made, Scope.GLOBAL, here, force=force)
    (parent / "guard").unlink()
    source(parent / "guard", name="third")
    with pytest.raises(ConflictError, match="taken by the extension 'third'"):
        install(made, Scope.GLOBAL, here, force=force)
    assert contents(parent) == ["guard", "other"]


def test_where_it_is_installed_is_no_source_for_itself(here, tmp_path):
    folder = install(LocalSource(source(tmp_path / "made")), Scope.GLOBAL, here).now.folder
    with pytest.raises(ConflictError, match="is installed already, there"):
        install(LocalSource(folder), Scope.GLOBAL, here, force=True)


def test_replacing_keeps_data_and_whether_it_is_enabled(here, tmp_path):
    made = source(tmp_path / "made")
    extension = install(LocalSource(made), Scope.GLOBAL, here).now
    (extension.folder / "state").mkdir()
    (extension.folder / "state" / "todos.json").write_text("[1]")
    (extension.folder / "settings").write_text("mine")
    (extension.folder / "__pycache__").mkdir()
    assert switch(extension, here.home, on=False)
    source(made, version="2.0")
    (made / "settings").write_text("shipped")
    arrival = install(LocalSource(made), Scope.GLOBAL, here, force=True)
    assert (extension.folder / "state" / "todos.json").read_text() == "[1]"
    assert (extension.folder / "settings").read_text() == "shipped"
    assert (extension.folder / "settings.kept").read_text() == "mine"
    assert "settings.kept" in arrival.warnings[0]
    assert manifest_in(extension.folder)["version"] == "2.0"
    assert manifest_in(extension.folder)["enabled"] is False
    assert contents(extension.folder.parent) == ["guard"]


# --- what is said of the program ------------------------------------------------------------------------------


def test_an_extension_that_would_not_start_is_a_warning(here, tmp_path):
    made = source(tmp_path / "made", program="x")
    (made / "run").chmod(0o644)
    told = install(LocalSource(made), Scope.GLOBAL, here).warnings
    assert told == (f"{here.home}/extensions/guard/run is not executable: chmod +x {here.home}/extensions/guard/run",)
    for name, exec_, complaint in (
        ("a", "./built", "does not exist; if it has to be built, build it there"),
        ("b", "no-such-program-anywhere", "is not on PATH"),
        ("c", "../run", "leads out of its folder"),
        ("d", "./", "is a folder"),
    ):
        made = source(tmp_path / name, name=name, exec=exec_)
        assert complaint in " ".join(install(LocalSource(made), Scope.GLOBAL, here).warnings)
    assert install(LocalSource(source(tmp_path / "e", name="e", exec="sh")), Scope.GLOBAL, here).warnings == ()


def test_the_record_can_be_read_by_others(here, tmp_path):
    folder = install(LocalSource(source(tmp_path / "made")), Scope.GLOBAL, here).now.folder
    said = json.loads((folder / ".zot-install.json").read_text())
    assert set(said) >= {
        "source", "kind", "ref", "commit", "content_hash", "files", "version", "installed_at",
    }  # fmt: skip
