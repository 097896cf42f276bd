"""The file of a profile is there whole, or not at all."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from supervisor.profile.place import Place
from supervisor.traces.places import newest_profile, runs_folder

if TYPE_CHECKING:
    from pathlib import Path


def test_profiles_of_one_extension_are_numbered_and_for_the_user_only(tmp_path: Path):
    place = Place(start=str(tmp_path / "runs" / "20261122-100000-7.guard."))
    for number in (1, 2):
        with place.opened() as (path, write):
            write(b"{}")
        assert path.name == f"20261122-100000-7.guard.{number}.profile.json"
        assert path.read_bytes() == b"{}"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("is_named", [True, False])
def test_a_profile_that_fails_leaves_no_file(tmp_path: Path, is_named: bool):
    place = Place(path=str(tmp_path / "p.json")) if is_named else Place(start=str(tmp_path / "x."))
    with pytest.raises(KeyboardInterrupt), place.opened():
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_the_users_file_is_replaced_only_by_a_whole_profile(tmp_path: Path):
    file = tmp_path / "p.json"
    file.write_text("old")
    with pytest.raises(KeyboardInterrupt), Place(path=str(file)).opened() as (_, write):  # noqa: PT012
        write(b"half")
        raise KeyboardInterrupt
    assert file.read_text() == "old"
    with Place(path=str(file)).opened() as (_, write):
        write(b"new")
    assert file.read_text() == "new"


@pytest.mark.parametrize("name", ["missing/p.json", ""])
def test_a_file_that_cannot_be_written_is_named_at_once(tmp_path: Path, name: str):
    path = str(tmp_path / name).rstrip("/")
    with pytest.raises(OSError, match=r"No such file|Is a directory") as refused, Place(path=path).opened():
        raise AssertionError
    assert refused.value.filename == path


def test_the_newest_profile_of_an_extension_is_found(tmp_path: Path):
    assert newest_profile(tmp_path, "guard") == ""
    folder = runs_folder(tmp_path)
    folder.mkdir()
    for name in ("20261122-100000-7.guard.1", "20261122-100000-7.guard.x.1", "20261122-100000-7.my.guard.1"):
        (folder / f"{name}.profile.json").write_text("{}")
    (folder / "20261122-100000-7.guard.2.box.jsonl").touch()
    assert newest_profile(tmp_path, "guard") == str(folder / "20261122-100000-7.guard.1.profile.json")
    assert newest_profile(tmp_path, "my.guard").endswith("my.guard.1.profile.json")


def test_an_empty_profile_that_a_killed_profiler_left_is_none(tmp_path: Path):
    folder = runs_folder(tmp_path)
    folder.mkdir()
    (folder / "20261122-100000-7.guard.2.profile.json").touch()
    assert newest_profile(tmp_path, "guard") == ""
    (made := folder / "20261122-100000-7.guard.1.profile.json").write_text("{}")
    assert newest_profile(tmp_path, "guard") == str(made)
