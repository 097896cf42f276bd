"""`zot` takes credentials out of its own command line."""

from __future__ import annotations

import sys

from cli.ext.manage.own_command_line import blot_out
from tests.support.git_server import GitServer, command_lines
from tests.support.installing import repository


def test_credentials_are_in_no_command_line_during_a_clone(zot):
    repository(zot.folder / "served" / "guard")
    with GitServer(zot.folder / "served", "me", "s3cr3t") as server:
        url = f"http://me:s3cr3t@{server.address}/guard/.git"
        outcome = zot.run("ext", "install", url, cold=True)
    assert outcome.status == 0, outcome.stderr
    assert "s3cr3t" not in outcome.stderr + outcome.text
    if sys.platform == "linux":  # elsewhere a process cannot change its own
        assert any(b"\0install\0****" in line for line in server.command_lines)
        assert all(b"s3cr3t" not in line for line in server.command_lines)


def test_a_word_that_is_not_there_changes_nothing():
    before = command_lines()
    blot_out("no process has this word")
    assert any(line in before for line in command_lines())
