"""The words that carry out a command behind a prefix."""

from __future__ import annotations

import subprocess

from agent.confinement import Confinement, shell_argv


def inside(root: str) -> Confinement:
    return Confinement(root, ("env", "IN=side"), lambda _reason: None)


def test_without_a_prefix_the_shell_starts_in_the_folder() -> None:
    assert shell_argv("ls", "/a") == (["/bin/sh", "-c", "ls"], "/a")


def test_in_the_workspace_itself_the_command_is_as_it_is() -> None:
    assert shell_argv("ls", "/a", inside("/a")) == (["env", "IN=side", "/bin/sh", "-c", "ls"], "/a")


def test_a_folder_below_is_entered_by_the_shell(tmp_path) -> None:
    (tmp_path / "a '$b").mkdir()
    argv, folder = shell_argv("echo $IN; pwd; exit 3", str(tmp_path / "a '$b"), inside(str(tmp_path)))
    ended = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (3, f"side\n{tmp_path}/a '$b\n")
    argv, folder = shell_argv("echo never", str(tmp_path / "gone"), inside(str(tmp_path)))
    assert subprocess.run(argv, cwd=folder, capture_output=True, check=False).returncode == 126
