"""Only the user can read the files that zot makes, whatever the umask says."""

from __future__ import annotations

import stat

import pytest

from tests.support.install_sources import repository, source
from tests.support.replay_script import Script


@pytest.fixture
def run(zot):
    """Runs a command without a umask."""

    def with_it(*args):
        outcome = zot.run(*args, umask=0)
        assert outcome.status == 0, outcome.stderr
        return outcome

    return with_it


def modes(home):
    """By kind: the modes of all that is in the home but the programs of extensions."""
    for path in (home, *home.rglob("*")):
        if path.is_symlink() or (path.is_relative_to(home / "extensions") and path.name != "extensions"):
            continue
        yield path, stat.S_IMODE(path.lstat().st_mode)


def test_all_that_is_made_in_the_home_is_private(zot, run, tmp_path):
    copied = source(tmp_path / "made" / "copied", "copied")
    cloned = repository(tmp_path / "made" / "cloned", name="cloned")
    linked = source(tmp_path / "made" / "linked", "linked")
    for path in (copied, *copied.iterdir()):
        path.chmod(0o6777)
    project = source(zot.cwd / ".zot" / "extensions" / "ours", "ours")
    run("ext", "trust", "--project", "--yes")
    assert stat.S_IMODE(zot.home.stat().st_mode) == 0o700
    run("ext", "install", copied)
    run("ext", "install", f"file://{cloned}")
    run("ext", "install", "--link", linked)
    (copied / "more").write_text("")
    (copied / "more").chmod(0o777)
    run("ext", "update", "copied")
    run("ext", "disable", "copied")
    run("ext", "enable", "copied")
    script = Script(zot.cwd).answer("done")
    run(*zot.replay_flags(script), "go")
    installed = zot.home / "extensions"
    (installed / "copied" / "todos.json").write_text("{}")
    run("ext", "remove", "linked", "--yes")
    for path in (installed / "copied", installed / "cloned"):
        for below in (path, *path.rglob("*")):
            assert below.lstat().st_mode & 0o7022 == 0 or below.name == "todos.json", below
    run("ext", "remove", "copied", "--yes")
    found = dict(modes(zot.home))
    assert {path.name for path in found} >= {"trust.json", "logs", "sessions", "data", "copied", "ext-cloned.log"}
    assert {path: mode for path, mode in found.items() if mode & 0o077 and path.name != "todos.json"} == {}
    assert project.is_dir()


def test_a_home_that_others_may_write_to_is_left_and_told(zot, tmp_path):
    zot.home.mkdir()
    zot.home.chmod(0o775)
    outcome = zot.run("ext", "install", source(tmp_path / "made"))
    told = f"others may write to {zot.home}, and so decide what is run from it"
    assert f"{told}: chmod go-w {zot.home}\n" in outcome.stderr
    assert stat.S_IMODE(zot.home.stat().st_mode) == 0o775
    (home,) = [line for line in zot.run("doctor", "--json").json_lines if told in str(line)]
    assert "warn" in str(home)
