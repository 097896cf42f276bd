"""`zot ext list`: an empty list, and names that are no Unicode."""

from __future__ import annotations

import os

from cli.ext.manage.list import _print_table
from supervisor.install.installed_extension import installed_extensions
from tests.support.install_sources import shelves, source
from tests.support.zot_fork import run


def test_an_empty_list_is_said_on_stderr(zot):
    outcome = run(zot, "ext", "list")
    assert (outcome.status, outcome.stdout) == (0, b"")
    assert outcome.stderr.startswith("no extensions installed")
    assert run(zot, "ext", "list", "--json").stdout == b""
    assert run(zot, "ext", "update").stderr == "nothing to update: no extension was installed with zot ext install\n"
    assert not zot.home.exists()


def test_folder_names_that_are_no_unicode_are_listed(zot):
    folder = source(zot.home / "extensions" / "x")
    os.rename(folder, os.fsencode(folder.parent) + b"/b\xffd")
    (folder.parent / os.fsdecode(b"b\xffd") / "extension.json").write_text("{")
    assert "b?d" in run(zot, "ext", "list").text
    assert run(zot, "ext", "list", "--json").json_lines[0]["name"] == "b?d"


def test_on_a_narrow_terminal_names_and_what_is_wrong_stay_whole(tmp_path, capsys):
    folders = shelves(tmp_path)
    parent = folders.home / "extensions"
    source(parent / ("a-name-of-some-length-" * 2), name="guard-of-everything-that-moves")
    (parent / "broken").mkdir()
    _print_table(installed_extensions(folders), folders.home, 60)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["scope", "name", "enabled", "trusted"]
    assert max(len(line) for line in lines[:3]) <= 60
    assert any("guard-of-everything-that-moves" in line for line in lines)
    assert lines[-1].startswith("broken: ")
    assert "no extension.json in it" in lines[-1]
