"""Temporary folders: what a killed process left is deleted by the next one, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import pytest

from supervisor.home.scratch import scratch_folder

HOLD = (
    "import sys; from supervisor.home.scratch import scratch_folder\n"
    "with scratch_folder('try') as made: (made / 'file').touch(); print(made, flush=True); sys.stdin.read()"
)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_the_folder_of_a_killed_process_is_deleted_and_that_of_a_living_one_is_not(place):
    argv = [sys.executable, "-c", HOLD]
    holders = [subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    with holders[0] as killed, holders[1] as living:
        paths = {holder: os.path.basename(holder.stdout.readline().strip()) for holder in holders}
        killed.kill()
        killed.wait()
        with scratch_folder("try") as made:
            assert sorted(os.listdir(place)) == sorted([paths[living], made.name])
            assert made.stat().st_mode & 0o777 == 0o700
        living.stdin.close()
    assert os.listdir(place) == []


def test_nothing_else_is_deleted(place):
    (place / "elsewhere").mkdir()
    (place / "zot-try-linked__").symlink_to("elsewhere")
    (place / "zot-try-notes").mkdir()
    (place / "zot-other-abcd1234").mkdir()
    (place / "zot-try-file1234").touch()
    before = set(os.listdir(place))
    with scratch_folder("try") as made:
        assert set(os.listdir(place)) == {*before, made.name}
    assert set(os.listdir(place)) == before


def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(place, monkeypatch):
    made = tempfile.mkdtemp
    gone: list[str] = []

    def make(prefix: str) -> str:
        path = made(prefix=prefix)
        if not gone:
            gone.append(path)
            os.rmdir(path)
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", make)
    with scratch_folder("try") as found:
        assert str(found) not in gone
        assert found.is_dir()
