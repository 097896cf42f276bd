"""An author edits the source of an installed extension: a copy says so at each reload, a link runs what was edited."""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.host import PRELUDE
from tests.support.host_process import hosting
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = "hello('which')\nsend(type='ready')\nfor frame in frames(): result(frame, {version!r})\n"


@pytest.fixture
def source(zot) -> Path:
    """A source with the tool `which`, in its version 1."""
    folder = zot.folder / "src" / "one"
    folder.mkdir(parents=True)
    manifest = {"name": "one", "exec": sys.executable, "args": ["-I", "-S", "x.py"]}
    (folder / "extension.json").write_text(json.dumps(manifest))
    write(folder, "v1")
    return folder


def write(folder: Path, version: str) -> None:
    new = folder.parent / "new"
    new.write_text(PRELUDE + PROGRAM.format(version=version))
    new.replace(folder / "x.py")


def install(zot, *args) -> None:
    done = zot.run("ext", "install", *args)
    assert done.status == 0, done.stderr


def test_a_reload_says_that_the_source_is_newer(zot, source):
    install(zot, source)
    newer = f"its source is newer: zot ext update one (it was installed from {source})"
    with hosting(zot) as host:
        assert zot.run("ext", "reload", "one").text == "one  reloaded\n"
        write(source, "v2")
        assert zot.run("ext", "reload", "one").text == f"one  reloaded; {newer}\n"
        assert host.call("which") == "v1"
        (said,) = zot.run("ext", "reload", "--json").json_lines
        assert (said["outcome"], said["newer_source"]) == ("reloaded", str(source))
        host.running.signal(signal.SIGHUP)
        wait_until(lambda: f"one: {newer}\n" in host.running.errors())
        assert "updated one" in zot.run("ext", "update", "one").stderr
        assert zot.run("ext", "reload", "one").text == "one  reloaded\n"
        assert host.call("which") == "v2"


def test_a_link_runs_what_the_author_has_edited(zot, source):
    install(zot, "--link", source)
    link = zot.home / "extensions" / "one"
    with hosting(zot) as host:
        assert host.call("which") == "v1"
        write(source, "v2")
        assert zot.run("ext", "reload", "one").text == "one  reloaded\n"
        assert host.call("which") == "v2"
        assert zot.run("ext", "doctor", "one").status == 0
        source.rename(source.with_name("moved"))
        kept = zot.run("ext", "reload", "one")
        assert (kept.status, "one  kept: " in kept.text) == (1, True)
        assert host.call("which") == "v2"
    gone = f"is a link to {source}, which does not exist; put the folder back, or zot ext remove one"
    with hosting(zot) as host:
        assert f"extension load: {link}: {gone}\n" in host.running.errors()
    assert gone in zot.run("ext", "list").text
