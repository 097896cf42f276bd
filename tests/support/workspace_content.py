"""Files of a project and of its copies, and what the patch of a copy makes of the project."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess

from agent.batch.workspace import tree


def git(folder, *words, given=None):
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    ended = subprocess.run(
        ["git", *identity, *words], cwd=folder, input=given, capture_output=True, env=environment, check=False
    )
    assert ended.returncode == 0, (words, ended.stderr)
    return ended.stdout


def applied(project, rundir, name, tmp_path):
    """The project after the patch: paths, contents and rights to execute."""
    again = tmp_path / "again"
    shutil.copytree(project, again, symlinks=True)
    git(again, "apply", given=(rundir / "diffs" / f"{name}.diff").read_bytes())
    return contents(again)


def contents(root):
    found = {}
    for entry in tree.scan(str(root)).entries:
        if not entry.is_folder and ".git" not in entry.path.split("/"):
            path = root / entry.path
            found[entry.path] = (entry.target or path.read_bytes(), bool(entry.mode & stat.S_IXUSR))
    return found
