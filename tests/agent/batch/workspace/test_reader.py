"""The changes of a confined run, while something still writes into its workspace."""

from __future__ import annotations

import subprocess
import sys

import pytest
from msgspec.structs import replace

from agent.batch.workspace.copy import make_workspace
from agent.batch.workspace.diff import diff_of
from agent.batch.workspace.reader import ConfinedReader
from agent.tools.files.beneath import is_supported
from tests.support.git_repository import make_repository

pytestmark = pytest.mark.skipif(not is_supported(), reason="this system has no openat2")
SWAP = """
import ctypes, os, sys
os.chdir(sys.argv[1])
exchange = ctypes.CDLL(None).renameat2
print(flush=True)
while True:
    exchange(-100, b"src", -100, b"way", 2)
    exchange(-100, b"run.sh", -100, b"link", 2)
"""


def confined(project, rundir):
    return replace(make_workspace(project, rundir, "a"), is_confined=True)


def test_it_is_as_without_a_container(project, rundir):
    make_repository(project)
    (project / ".gitignore").write_text("*.o\n")
    workspace = confined(project, rundir)
    (workspace.path / "src/main.py").write_text("changed\n")
    (workspace.path / "src/new.py").write_text("new\n")
    (workspace.path / "src/new.o").write_text("new\n")
    patch = diff_of(workspace)
    assert patch == diff_of(replace(workspace, is_confined=False))
    assert b"new.py" in patch
    assert b"new.o" not in patch


def test_names_that_are_exchanged_meanwhile_lead_nowhere(project, rundir, tmp_path):
    workspace = confined(project, rundir)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "main.py").write_text("the secret\n")
    (workspace.path / "way").symlink_to(outside)
    (workspace.path / "link").unlink()
    (workspace.path / "link").symlink_to(outside / "main.py")
    with subprocess.Popen([sys.executable, "-c", SWAP, str(workspace.path)], stdout=subprocess.PIPE) as swapping:
        assert swapping.stdout is not None
        swapping.stdout.readline()
        try:
            assert all(b"the secret" not in diff_of(workspace) for _ in range(100))
        finally:
            swapping.kill()


def test_the_rules_of_a_linked_git_folder_do_not_count(project, rundir, tmp_path):
    workspace = confined(project, rundir)
    (tmp_path / "git/info").mkdir(parents=True)
    (tmp_path / "git/info/exclude").write_text("*.py\n")
    (workspace.path / ".git").symlink_to(tmp_path / "git")
    (workspace.path / "new.py").write_text("new\n")
    assert b"new.py" in diff_of(workspace)


def test_no_link_is_followed(project, rundir):
    workspace = confined(project, rundir)
    reader = ConfinedReader(workspace.path)
    try:
        with pytest.raises(OSError, match="symbolic"):
            reader.read(workspace.path / "link", 100)
        assert reader.read(workspace.path / "run.sh", 100) == b"#!/bin/sh\n"
        assert reader.read(project / "link", 1000).startswith(b"print(1)"), "a path of the batch's own"
    finally:
        reader.close()
