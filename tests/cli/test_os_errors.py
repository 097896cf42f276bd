"""A command that fails because of the system says so in one line."""

from __future__ import annotations

import errno
import os
from pydoc import locate

import pytest

from cli.os_errors import STATUS_AFTER, words
from tests.support.install_sources import source
from wire.exit_codes import Status

OF_EXTENSIONS = ("list", "trust --list", "schema", "schema manifest", "doctor", "test guard")
COMMANDS = [*(f"ext {command}" for command in OF_EXTENSIONS), "schema", "schema manifest", "doctor", "doctor --json"]


@pytest.fixture
def in_a_folder_with_one(zot):
    source(zot.cwd / "guard", exec="sh", args=["-c", "exit 3"], timeouts={"hello": 5.0})
    source(zot.cwd / ".zot" / "extensions" / "guard")
    return zot


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("command", COMMANDS)
def test_output_that_cannot_be_written_is_one_line(in_a_folder_with_one, command):
    with open("/dev/full", "w") as full:
        outcome = in_a_folder_with_one.run(*command.split(), stdout=full)
    last = outcome.stderr.splitlines()[-1]
    named = " ".join(command.split()[: 1 + command.startswith("ext")])
    assert (outcome.status, last.partition(": ")[0]) == (1, f"zot {named}")
    assert "No space left on device" in last
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("command", ["list", "install ."])
def test_a_removed_working_folder_is_one_line(zot, command):
    gone = zot.folder / "gone"
    gone.mkdir()
    begin = ["sh", "-c", f'cd "{gone}" && rmdir "{gone}" && exec "$@"', "sh", *zot.command]
    outcome = zot.run("ext", *command.split(), command=begin)
    assert outcome.status == 1
    name = command.split()[0]
    assert outcome.stderr == f"zot ext {name}: the current folder no longer exists; change to one that does\n"


def test_drive_without_standard_input_is_one_line(in_a_folder_with_one):
    begin = ["sh", "-c", 'exec "$@" <&-', "sh", *in_a_folder_with_one.command]
    outcome = in_a_folder_with_one.run("ext", "drive", "guard", command=begin)
    assert outcome.status == 1
    assert "it exited before its hello (exit 3)" in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("command", ["--help", "ext --help", "--version", "", "ext", "help"])
def test_help_that_cannot_be_written_is_one_line(zot, command):
    with open("/dev/full", "w") as full:
        outcome = zot.run(*command.split(), stdout=full)
    assert (outcome.status, outcome.stderr) == (1, "zot: standard output: No space left on device\n")


@pytest.mark.parametrize("command", ["doctor", "ext doctor guard", "ext test guard"])
def test_a_reader_that_has_gone_is_no_finding(in_a_folder_with_one, command):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        outcome = in_a_folder_with_one.run(*command.split(), stdout=gone)
    assert (outcome.status, "Traceback" in outcome.stderr) == (Status.INTERRUPTED.exit_code, False)


def test_the_errors_that_commands_expect_are_there():
    assert [name for name in STATUS_AFTER if not isinstance(locate(name), type)] == []


def test_without_descriptors_it_is_said_what_to_raise():
    said = words(OSError(errno.EMFILE, "Too many open files", "/x"))
    assert said == "/x: too many open files; raise the limit (ulimit -n), see zot doctor"


@pytest.mark.parametrize("command", [["--version"], ["ext", "list"]])
def test_output_that_is_closed_from_the_start_goes_nowhere(zot, command):
    """As with /dev/null: the caller wants none of it, and the status is that of the command."""
    closed = zot.run(*command, command=["sh", "-c", 'exec "$@" >&-', "sh", *zot.command])
    shown = zot.run(*command)
    assert (closed.status, closed.stdout, closed.stderr) == (shown.status, b"", shown.stderr)
