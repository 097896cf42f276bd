"""A broken request, or one that cannot be served, does the template no harm."""

from __future__ import annotations

import json
import os
import resource
import signal

import msgspec
import pytest

from supervisor.process.table import become_subreaper, children_of
from supervisor.template import protocol
from supervisor.template.protocol import Ended, Failed, Started
from tests.support.templates import Raw
from tests.support.zot_process import wait_until

pytestmark = pytest.mark.skipif(not protocol.is_available(), reason="no templates on this system")


def works(raw: Raw, number: int) -> None:
    raw.ask(number, "returns", b"return 3")
    started, ended = raw.next(), raw.next()
    assert isinstance(started, Started)
    assert isinstance(ended, Ended)
    assert (started.id, ended.id, started.pid) == (number, number, ended.pid)
    assert os.waitstatus_to_exitcode(ended.status) == 3


@pytest.mark.parametrize(
    "packet", [b"\xff\xfe", b"{}", b"\x93\x01\x02\x03", b"x" * 40_000, msgspec.msgpack.encode([1, 5])]
)
def test_broken_requests(packet: bytes):
    with Raw() as raw:
        protocol.send(raw.socket, packet)
        failed = raw.next()
        assert isinstance(failed, Failed)
        assert failed.reason
        protocol.send(raw.socket, packet, [0, 1, 2])
        assert isinstance(raw.next(), Failed)
        works(raw, 7)


def test_a_request_without_descriptors():
    with Raw() as raw:
        raw.ask(4, "returns", fds=[0, 1])
        failed = raw.next()
        assert isinstance(failed, Failed)
        assert failed.id == 4
        assert "needs three descriptors at least, and 2 came" in failed.reason
        works(raw, 5)


def test_a_template_without_descriptors_to_spare_refuses_a_fork():
    with Raw() as raw:
        soft, hard = resource.prlimit(raw.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(raw.process.pid, resource.RLIMIT_NOFILE, (5, hard))
        raw.ask(4, "returns")
        failed = raw.next()
        assert isinstance(failed, Failed)
        assert (failed.id, "too many files open" in failed.reason) == (4, True)
        resource.prlimit(raw.process.pid, resource.RLIMIT_NOFILE, (soft, hard))
        works(raw, 5)


def test_a_long_request():
    with Raw() as raw:
        raw.ask(1, "returns", b"return 3 ".ljust(1 << 20))
        assert isinstance(raw.next(), Started)
        ended = raw.next()
        assert isinstance(ended, Ended)
        assert os.waitstatus_to_exitcode(ended.status) == 3


def test_at_the_end_of_its_socket_all_forks_end_also_those_that_ignore_it():
    with Raw() as raw:
        for number in range(3):
            raw.ask(number, "stubborn")
        pids = [started.pid for started in (raw.next() for _ in range(3))]
    assert raw.process.returncode == 0
    for pid in pids:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert status in (-signal.SIGKILL, -signal.SIGTERM)


def test_what_forks_leave_is_collected_and_ended():
    with Raw() as raw:
        reader, writer = os.pipe()
        raw.ask(1, "litters", fds=[reader, writer, writer])
        assert isinstance(raw.next(), Started)
        assert isinstance(raw.next(), Ended)
        left = int(os.read(reader, 100))
        wait_until(lambda: children_of(raw.process.pid) == {left})
        works(raw, 2)
        os.close(writer)
    assert os.read(reader, 1) == b"", "nobody has the other end any more"
    os.close(reader)


def test_a_fork_that_cannot_be_announced_does_not_run(tmp_path):
    """The parent goes in the moment of the request."""
    with Raw() as raw:
        assert raw.process.poll() is None
        os.kill(raw.process.pid, signal.SIGSTOP)
        raw.ask(1, "appends", b"%b/ran line" % bytes(tmp_path))
        raw.socket.close()
        os.kill(raw.process.pid, signal.SIGCONT)
    assert not (tmp_path / "ran").exists()


@pytest.fixture
def subreaper() -> None:
    become_subreaper()


@pytest.mark.usefixtures("subreaper")
def test_a_detached_fork_is_a_child_of_the_parent_in_its_session():
    with Raw("detached") as raw:
        reader, writer = os.pipe()
        raw.ask(1, "facts", fds=[reader, writer, writer])
        os.close(writer)
        started = raw.next()
        with open(reader, "rb") as output:
            facts = json.loads(output.read())
        assert isinstance(started, Started)
        assert facts["ids"] == [started.pid, os.getpgrp(), os.getsid(0)]
        assert facts["parent"] == os.getpid()
        assert os.waitstatus_to_exitcode(os.waitpid(started.pid, 0)[1]) == 0
        raw.ask(2, "stubborn")
        left = raw.next().pid
        assert (raw.process.poll(), os.getsid(left)) == (None, os.getsid(0)), "no `Ended` came between"
    assert raw.process.returncode == 0
    assert os.waitpid(left, os.WNOHANG) == (0, 0)
    os.kill(left, signal.SIGKILL)
    os.waitpid(left, 0)


@pytest.mark.usefixtures("subreaper")
def test_a_detached_fork_that_cannot_be_made():
    """The template forks, and its child cannot fork again; or the folder does not exist."""
    with Raw("detached", "flaky") as raw:
        raw.ask(1, "returns")
        failed = raw.next()
        assert isinstance(failed, Failed)
        assert (failed.id, failed.errno) == (1, 11)
        assert "cannot fork again" in failed.reason
    with Raw("detached") as raw:
        raw.ask(2, "returns", cwd=b"/no/such/folder")
        started, failed = raw.next(), raw.next()
        assert isinstance(failed, Failed)
        assert (failed.id, failed.errno, failed.reason) == (2, 2, "/no/such/folder: No such file or directory")
        assert os.waitstatus_to_exitcode(os.waitpid(started.pid, 0)[1]) == 127
