"""A fork of a template equals a program that was started: each point in which a plain fork would not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.cleanup.env_marks import bears_token, environment_of
from supervisor.template import protocol
from tests.support.templates import MARK, command, environment, warm

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.templates import Warm

pytestmark = pytest.mark.skipif(not protocol.is_available(), reason="no templates on this system")
FRESH = """
import json, signal
numbers = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
print(json.dumps([
    {int(number): str(signal.getsignal(number)) for number in sorted(numbers)},
    sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
]))
"""


@pytest.fixture(scope="module")
def template() -> Iterator[Warm]:
    with warm() as made:
        yield made.serving()


def test_signals_are_those_of_a_new_interpreter(template: Warm):
    """The template has handlers for four signals and a wake-up descriptor, and ignores SIGUSR2, which a program that it
    starts would ignore as well."""
    facts = template.fork("facts").facts()
    fresh, mask = json.loads(subprocess.check_output([sys.executable, "-I", "-S", "-c", FRESH]))
    fresh[str(int(signal.SIGUSR2))] = str(signal.SIG_IGN)
    assert {number: what.removeprefix("Handlers.") for number, what in facts["handlers"].items()} == fresh
    assert facts["mask"] == mask
    assert facts["wakeup_fd"] == -1


def test_a_fork_leads_a_session_of_its_own(template: Warm):
    forked = template.fork("facts")
    facts = forked.facts()
    assert facts["ids"] == [forked.child.pid] * 3
    assert template.template.child is not None
    assert facts["parent"] == template.template.child.pid


def test_it_has_the_descriptors_that_were_asked_for_and_no_others(template: Warm, tmp_path: Path):
    with open(tmp_path / "errors", "wb") as errors, open(tmp_path / "link", "wb") as link:
        others = [template.fork("waits", links=[link.fileno()]) for _ in range(3)]  # its pidfds are in the template
        forked = template.fork("facts", stderr=errors.fileno(), links=[link.fileno(), errors.fileno()])
        facts = forked.facts()
    fds = facts["fds"]
    assert sorted(fds) == ["0", "1", "2", "3", "4"]
    assert fds["0"] == os.devnull
    assert fds["1"].startswith("pipe:")
    assert fds["2"] == fds["4"] == str(tmp_path / "errors")
    assert fds["3"] == str(tmp_path / "link")
    assert facts["inherited"] == [True] * 3, "programs that it starts get the standard streams"
    for other in others:
        other.until_end()


def test_many_descriptors_find_their_places(template: Warm, tmp_path: Path):
    files = [open(tmp_path / str(number), "wb") for number in range(30)]  # noqa: SIM115
    facts = template.fork("facts", links=[file.fileno() for file in files]).facts()
    for file in files:
        file.close()
    assert [facts["fds"][str(3 + number)] for number in range(30)] == [file.name for file in files]
    assert len(facts["fds"]) == 33


def test_the_environment_is_replaced(template: Warm):
    env = {"PATH": "/bin", "ODD": "a=b\nc", "BYTES": os.fsdecode(b"\xff\xfe"), "LONG": "x" * 300_000}
    assert template.fork("facts", env=env).facts()["env"] == env
    assert template.fork("facts", env={}).facts()["env"] == {}
    inherited = template.fork("facts").facts()["env"]
    assert inherited.items() >= environment().items()


def test_in_proc_it_bears_the_mark_of_the_template(template: Warm):
    """The kernel shows the environment with which the last program was started: leftovers are found by it."""
    reader, writer = os.pipe()
    forked = template.fork("waits", env={}, links=[reader]).until_said()
    os.close(reader)
    assert bears_token(environment_of(forked.child.pid), MARK)
    os.close(writer)
    assert forked.until_end().code == 0


def test_time_zone_folder_and_umask(template: Warm, tmp_path: Path):
    facts = template.fork("facts", env={"TZ": "Asia/Tokyo"}, cwd=str(tmp_path), umask=0o27).facts()
    assert (facts["hour"], facts["cwd"], facts["umask"]) == (9, str(tmp_path), 0o27)
    facts = template.fork("facts").facts()
    assert (facts["hour"], facts["cwd"]) == (0, "/")


def test_random_numbers_differ_between_forks(template: Warm):
    """The module `random` is seeded anew. A generator that the template has made goes on equally in all forks."""
    facts = [template.fork("facts").facts() for _ in range(2)]
    assert facts[0]["random"] != facts[1]["random"]
    assert facts[0]["own_random"] == facts[1]["own_random"]


def test_standard_streams_are_new(template: Warm):
    facts = template.fork("facts").facts()
    assert facts["streams"] == [[0, "<stdin>", "r", False], [1, "<stdout>", "w", False], [2, "<stderr>", "w", True]]
    forked = template.fork("copies", stdin=True)
    assert forked.child.send("größer\n".encode())
    forked.until_said("GRÖSSER\n".encode())
    assert forked.child.send(b"LF\r\n")
    forked.until_said(b"LF\r\n")
    assert forked.child.stdin is not None
    forked.child.stdin.end()
    assert forked.until_end().code == 0


def test_what_the_template_has_written_is_written_once(template: Warm):
    """The template had a text in its buffer when it began to serve."""
    assert template.fork("returns", b"text").until_end().code == 0
    with warm() as other:
        assert other.serving().fork("returns", b"text").until_end().code == 0
        assert other.template.child is not None
        other.template.child.kill_group(signal.SIGKILL)
        connection: Any = other.template._connection
        other.until(lambda: other.template.child is None)
        assert connection._reason.count("said once") == 1


def test_garbage_collection_is_on(template: Warm):
    assert template.fork("facts").facts()["gc"] is True


@pytest.mark.parametrize(
    ("holds", "reason"),
    [
        ("import select; kept = select.epoll()", "anon_inode:[eventpoll]"),
        ("import socket; kept = socket.socketpair()", "socket:"),
        ("import threading; threading.Thread(target=threading.Event().wait, name='pump', daemon=True).start()", "pump"),
    ],
)
def test_a_template_that_holds_what_forks_must_not_share_is_refused(holds: str, reason: str):
    code = f"{holds}\nimport sys; from supervisor.template.server import serve; serve(int(sys.argv[-1]), {{}})"
    with warm() as made:
        made.template._argv = [sys.executable, "-c", code]
        error = made.fork("returns").until_end()
        assert "UnfitError" in str(error)
        assert reason in str(error)
        assert "it is not restarted" in str(error)


def test_the_command_of_a_fork_is_that_of_the_template(template: Warm):
    reader, writer = os.pipe()
    forked = template.fork("waits", links=[reader]).until_said()
    os.close(reader)
    with open(f"/proc/{forked.child.pid}/cmdline", "rb") as file:
        assert os.fsdecode(file.read()).split("\0")[: len(command())] == command()
    os.close(writer)
    forked.until_end()
