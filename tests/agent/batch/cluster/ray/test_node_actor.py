"""The actor on a machine, without Ray."""

from __future__ import annotations

import subprocess
import sys

import pytest

from agent.batch.cluster.ray import node_actor
from agent.batch.cluster.ray.node_actor import NodeActor, find_programs, own_environment, read_version
from cli.version import VERSION
from tests.support.ray_bench import ECHO


@pytest.fixture
def actor():
    actor = NodeActor()
    assert not actor.begin(ECHO, False)
    return actor


def answer(actor: NodeActor, line: bytes) -> bytes:
    actor.send(line)
    found = b""
    while not found.endswith(b"\n"):
        found += actor.receive()
    return found


def test_a_program_whose_driver_is_not_heard_ends(monkeypatch):
    monkeypatch.setattr(node_actor, "HEARD_S", 0.5)
    actor = NodeActor()
    assert not actor.begin(ECHO, False)
    assert actor.receive() == b""
    actor.close()
    assert actor.ended() == (-15, "nothing was heard of the driver for 0 s\n")


def test_a_deaf_program_whose_driver_is_not_heard_is_killed(actor, monkeypatch):
    monkeypatch.setattr(node_actor, "LEAVES_S", 0.2)
    assert answer(actor, b"!stay\n") == b"deaf\n"
    monkeypatch.setattr(node_actor, "HEARD_S", 0.0)
    actor._listen()
    assert actor.receive() == b""
    assert actor.ended()[0] == -9
    actor.close()


def test_a_program_that_has_closed_its_input_gets_nothing_and_is_told_by_its_end(actor):
    actor.send(b"!exit\n")
    assert actor.receive() == b""
    actor.send(b"x" * 100)
    assert actor.ended() == (7, "the last words\n")
    actor.close()
    actor.send(b"x")


def test_an_archive_for_a_program_that_does_not_read_it_is_dropped():
    actor = NodeActor()
    assert not actor.begin("/missing", True)
    actor.upload(b"x" * (1 << 20))
    actor.upload(b"")
    assert actor.receive() == b""
    assert actor.ended()[0] == 2
    actor.close()


def test_the_zot_of_the_machine_is_found_also_below_the_working_folder(monkeypatch):
    programs = find_programs()
    assert programs is not None
    monkeypatch.chdir(programs)
    assert find_programs() == programs
    assert read_version(programs) == VERSION


def test_a_machine_without_zot_has_no_version(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert find_programs() is None
    assert NodeActor().look()["zot"] == ""
    assert read_version(tmp_path) == ""


def test_the_token_and_the_allocator_of_ray_stay_out_of_the_environment(monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    monkeypatch.setenv("LD_PRELOAD", "/x/ray/core/libjemalloc.so:/own.so")
    found = own_environment()
    assert "RAY_AUTH_TOKEN" not in found
    assert found["LD_PRELOAD"] == "/own.so"


def test_it_imports_nothing_of_ours():
    program = "import runpy, sys; runpy.run_path(sys.argv[1]); print([n for n in sys.modules if n.startswith('agent')])"
    words = [sys.executable, "-I", "-c", program, node_actor.__file__]
    assert subprocess.run(words, cwd="/", capture_output=True, text=True, check=True).stdout == "[]\n"
