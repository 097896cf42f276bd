"""The carrier for Ray clusters, with two nodes of Ray on this machine and an echo in place of the node program."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from agent.batch.cluster.ray.ray_carrier import RayCarrier
from cli.version import VERSION
from supervisor.process.stop_policy import Patience
from supervisor.process.teardown import stop_all
from tests.support.patience import PATIENCE_S, soon
from tests.support.ray_cluster import RayCluster, need_ray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from supervisor.loop.loop import Loop

ECHO = str(Path(__file__).parents[4] / "children" / "echoing_node.py")
LEAVING = Patience(ask=20.0)


class Told:
    """Keeps all that a carrier tells."""

    def __init__(self) -> None:
        self.is_up = False
        self.failed = ""
        self.up: dict[str, str] = {}
        self.cannot: dict[str, str] = {}
        self.gone: dict[str, str] = {}
        self.said: dict[str, bytearray] = {}

    def carrier_is_up(self) -> None:
        self.is_up = True

    def carrier_failed(self, reason: str) -> None:
        assert not self.failed
        self.failed = reason

    def node_is_up(self, node: str, address: str) -> None:
        assert node not in self.up
        self.up[node], self.said[node] = address, bytearray()

    def node_cannot(self, node: str, address: str, reason: str) -> None:
        self.cannot[node] = reason

    def node_said(self, node: str, data: bytes) -> None:
        assert node not in self.gone
        self.said[node] += data

    def node_is_gone(self, node: str, reason: str) -> None:
        assert node not in self.gone
        self.gone[node] = reason


class Bench:
    """A carrier, what it has told, and its loop."""

    def __init__(self, loop: Loop, carrier: RayCarrier, told: Told) -> None:
        self.loop, self.carrier, self.told = loop, carrier, told

    def until(self, predicate: Callable[[], bool]) -> None:
        soon(self.loop, lambda: predicate() or bool(self.told.failed))
        assert not self.told.failed

    def until_failed(self) -> str:
        soon(self.loop, lambda: bool(self.told.failed))
        return self.told.failed

    def ask(self, node: str, line: str) -> str:
        """Returns the node's answer, which ends with a newline."""
        self.told.said[node].clear()
        self.carrier.send(node, line.encode())
        self.until(lambda: self.told.said[node].endswith(b"\n"))
        return self.told.said[node].decode().rstrip("\n")

    def pids(self, node: str) -> tuple[int, int]:
        """Of the node program and of the actor's process."""
        program, actor = self.ask(node, "!pid\n").split()
        return int(program), int(actor)

    def stop(self) -> None:
        assert not stop_all(self.loop, self.carrier.stoppables(), patience=LEAVING)


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    need_ray()
    with RayCluster(2) as cluster:
        yield cluster


@pytest.fixture
def bench(loop: Loop, cluster: RayCluster) -> Iterator[Bench]:
    """A carrier whose nodes are up; at its end no node program is left."""
    bench = connect(loop, cluster)
    bench.until(lambda: bench.told.is_up)
    yield bench
    bench.stop()
    for process in programs(cluster):
        process.wait(PATIENCE_S)


def connect(loop: Loop, cluster: RayCluster, **options: str) -> Bench:
    told = Told()
    settings = {"address": cluster.address, "program": ECHO, "version": VERSION} | options
    carrier = RayCarrier(loop, told, env=cluster.env, **settings)
    carrier.start()
    return Bench(loop, carrier, told)


def programs(cluster: RayCluster) -> list[psutil.Process]:
    found = []
    for process in cluster.processes():
        try:
            if ECHO in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found


def wait_for_end(pid: int) -> None:
    try:
        psutil.Process(pid).wait(PATIENCE_S)
    except psutil.NoSuchProcess:
        pass


def test_bytes_go_to_each_node_and_back_in_order(bench):
    assert len(bench.told.up) == 2
    assert not bench.told.cannot
    data = b"".join(b"%08d" % number for number in range(400_000))
    for node in bench.told.up:
        bench.carrier.send(node, data)
    bench.until(lambda: all(len(said) >= len(data) for said in bench.told.said.values()))
    assert all(said == data for said in bench.told.said.values())


def test_a_held_node_is_not_read_and_goes_on_later(bench):
    held, other = bench.told.up
    bench.carrier.hold(held, held=True)
    bench.carrier.send(held, b"a" * (8 << 20))
    bench.ask(other, "still here\n")
    assert len(bench.told.said[held]) < 8 << 20
    bench.carrier.hold(held, held=False)
    bench.until(lambda: len(bench.told.said[held]) == 8 << 20)


def test_the_node_program_has_the_environment_of_the_machine(bench, cluster):
    node = next(iter(bench.told.up))
    found = dict(pair.split("=", 1) for pair in bench.ask(node, "!env\n").split("\0"))
    assert found["PATH"] == cluster.env["PATH"]
    assert not found.keys() & {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "RAY_JOB_ID", "LD_PRELOAD", "RAY_AUTH_TOKEN"}
    assert bench.ask(node, "!cwd\n") == "/"


def test_a_node_program_that_ends_is_told_with_its_last_words(bench):
    first, other = bench.told.up
    bench.carrier.send(first, b"!exit")
    bench.until(lambda: bool(bench.told.gone))
    assert bench.told.gone == {first: "its node program has ended (exit 7): the last words"}
    bench.carrier.send(first, b"nobody reads this")
    assert bench.ask(other, "still here\n") == "still here"


def test_a_closed_node_ends_by_itself(bench):
    node = next(iter(bench.told.up))
    program, _ = bench.pids(node)
    bench.carrier.close_node(node)
    bench.until(lambda: node in bench.told.gone)
    assert "exit 0" in bench.told.gone[node]
    wait_for_end(program)


def test_a_killed_actor_is_a_lost_node_and_leaves_nothing(bench):
    node, other = bench.told.up
    program, actor = bench.pids(node)
    os.kill(actor, signal.SIGKILL)
    bench.until(lambda: node in bench.told.gone)
    assert "the process of Ray that carries its bytes" in bench.told.gone[node]
    wait_for_end(program)
    assert bench.ask(other, "still here\n") == "still here"


def test_machines_that_join_are_used_and_those_that_are_killed_or_removed_are_lost(bench, cluster):
    before = set(bench.told.up)
    for end in (cluster.kill, cluster.remove):
        raylet = cluster.add()
        bench.until(lambda: len(bench.told.up.keys() - before) == 1)
        (new,) = bench.told.up.keys() - before
        program, actor = bench.pids(new)
        end(raylet)
        bench.until(lambda: new in bench.told.gone)  # noqa: B023
        assert "has left the cluster, or cannot be reached" in bench.told.gone[new]
        wait_for_end(program)
        wait_for_end(actor)
        before.add(new)
    assert not bench.told.cannot


def test_a_killed_process_for_ray_fails_the_carrier_and_ray_ends_the_nodes(loop, cluster):
    bench = connect(loop, cluster)
    bench.until(lambda: bench.told.is_up)
    assert bench.carrier.child is not None
    bench.carrier.child.kill_group(signal.SIGKILL)
    assert "signal SIGKILL" in bench.until_failed()
    bench.stop()
    for process in programs(cluster):
        process.wait(PATIENCE_S)


def test_another_version_of_zot_is_named(loop, cluster):
    bench = connect(loop, cluster, version="9.9.9")
    bench.until(lambda: bench.told.is_up)
    assert not bench.told.up
    assert len(bench.told.cannot) == 2
    for reason in bench.told.cannot.values():
        assert f"has zot {VERSION}, and here is 9.9.9: pip install pyzot==9.9.9 there" in reason
    bench.stop()


def test_a_wrong_token_is_named(loop, cluster):
    cluster_env, cluster.env = cluster.env, cluster.env | {"RAY_AUTH_TOKEN": "0" * 32}
    try:
        bench = connect(loop, cluster)
    finally:
        cluster.env = cluster_env
    assert bench.until_failed() == (
        "the Ray cluster does not accept the token: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as there"
    )
    bench.stop()


@pytest.mark.parametrize("address", ["127.0.0.2:1", "ray://127.0.0.2:1"])
def test_an_address_at_which_nothing_answers_is_named(loop, cluster, address):
    bench = connect(loop, cluster, address=address)
    assert bench.until_failed().startswith(f"nothing answers at {address} (")
    bench.stop()


@pytest.mark.parametrize("address", ["local", "http://a:1", "somewhere", "a:0", "ray://", "a:99999"])
def test_an_address_of_another_form_is_refused_before_anything_starts(loop, address):
    told = Told()
    carrier = RayCarrier(loop, told, version=VERSION, address=address, env={})
    carrier.start()
    soon(loop, lambda: bool(told.failed))
    assert f"--address {address!r}: use HOST:PORT" in told.failed
    assert carrier.child is None


def test_without_ray_the_extra_is_named(loop, tmp_path, monkeypatch):
    (tmp_path / "ray.py").write_text("raise ModuleNotFoundError('no Ray in this test')")
    told = Told()
    carrier = RayCarrier(loop, told, version=VERSION, env=os.environ | {"PYTHONPATH": str(tmp_path), "RAY_ADDRESS": ""})
    carrier.start()
    soon(loop, lambda: bool(told.failed))
    assert told.failed.startswith("--engine ray needs Ray: pip install 'pyzot[ray]'")
    stop_all(loop, carrier.stoppables())


def test_the_process_of_the_driver_imports_no_ray():
    assert "ray" not in sys.modules
