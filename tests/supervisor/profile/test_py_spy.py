"""py-spy profiles Python, and its errors become lines that say what to do."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest

from supervisor.process.table import is_alive
from supervisor.profile import py_spy
from supervisor.profile.errors import ProfileError
from supervisor.profile.speedscope import decode, hot_spots
from tests.support.profile_targets import SPIN, needs_py_spy, python, running


def fake(folder: Path, script: str) -> str:
    """A program in the place of py-spy."""
    path = folder / "py-spy"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


REFUSED = "Permission Denied: Try running again with elevated permissions by going 'sudo env \"PATH=$PATH\" !!'"


@needs_py_spy
def test_a_busy_process_is_profiled_and_goes_on(tmp_path: Path):
    file = tmp_path / "p.json"
    with running(python(SPIN)) as target:
        py_spy.record(py_spy.find_py_spy(), target.pid, 1, file)
        assert is_alive(target)
    assert "count_the_stars" in [spot.function for spot in hot_spots(decode(file.read_bytes()), {}, 1.0)]


def test_a_refusal_of_the_kernel_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(py_spy, "YAMA", tmp_path / "missing")
    program = fake(tmp_path, f"echo '{REFUSED.replace(chr(39), '')}' >&2; exit 1")
    with pytest.raises(ProfileError, match=rf"refuses to let pid {os.getpid()} be read .*--cap-add SYS_PTRACE"):
        py_spy.record(program, os.getpid(), 1, tmp_path / "p.json")


@pytest.mark.parametrize(
    ("owner", "own", "yama", "way_out"),
    [
        (0, 1000, 0, "pid 7 runs as user 0, and this is user 1000: only user 0 and root may profile it"),
        (1000, 1000, 1, "sudo sysctl kernel.yama.ptrace_scope=0, or sudo py-spy record"),
        (None, 1000, 0, "--cap-add SYS_PTRACE, or sudo py-spy record"),
    ],
)
def test_the_way_out_depends_on_who_refuses(owner: int | None, own: int, yama: int, way_out: str):
    assert way_out in py_spy.refused(7, owner, own, yama)


def test_other_errors_are_one_line_with_their_cause():
    told = "Error: Failed to find python version from target process\n\nStack backtrace:\n   0: anyhow::error\n"
    told_at_length = "Error: No such process\n\nCaused by:\n    0: it has ended\n    1: it has ended\n"
    osx = "This program requires root on OSX.\nTry running again with elevated permissions by going 'sudo !!'"
    assert py_spy.explain("", 7) == "py-spy cannot profile pid 7: it says nothing"
    assert py_spy.explain(told, 7).startswith("py-spy cannot profile pid 7: Failed to find python version from target")
    assert py_spy.explain(told_at_length, 7) == "py-spy cannot profile pid 7: No such process: it has ended"
    assert py_spy.explain(osx, 7).startswith("macOS lets only root read another process: sudo py-spy record")


def test_it_is_ended_with_its_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(py_spy, "SLACK_S", -0.9)
    monkeypatch.setattr(py_spy, "END_S", 0.1)
    with pytest.raises(ProfileError, match="has not ended"):  # a fixture finds a process that is left
        py_spy.record(fake(tmp_path, "trap 'exit 0' INT; while :; do read -r _ < /dev/zero; done"), 1, 1, tmp_path)


@needs_py_spy
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_a_process_of_another_user_is_refused_by_the_kernel():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        program = shutil.copy(py_spy.find_py_spy(), folder)
        unprivileged = fake_user(Path(folder), program)
        with running(python(SPIN)) as target, pytest.raises(ProfileError, match=rf"pid {target.pid}.*--cap-add"):
            py_spy.record(unprivileged, target.pid, 1, Path(folder) / "p.json")


def fake_user(folder: Path, program: str) -> str:
    """A program that runs `program` as another user."""
    path = folder / "as-nobody"
    path.write_text(f'#!/bin/sh\nexec setpriv --reuid=65534 --clear-groups {program} "$@"\n')
    path.chmod(0o755)
    return str(path)
