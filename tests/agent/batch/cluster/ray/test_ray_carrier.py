"""The carrier for Ray clusters, with nodes of Ray on this machine and an echo in place of the node program."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from cli.version import VERSION
from supervisor.loop.loop import Loop
from tests.support.lives import is_gone
from tests.support.ray_bench import ECHO, Bench, connect
from tests.support.ray_cluster import RayCluster, need_ray
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

FILLING = str(Path(ECHO).with_name("filled_object_store.py"))
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    need_ray()
    with RayCluster(2, for_clients=True) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def bench(cluster: RayCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A carrier with an uploaded folder. All tests share it, so each asks for as many nodes as it needs: `live`."""
    folder = tmp_path_factory.mktemp("upload")
    (folder / ".gitignore").write_text("secret\n")
    (folder / "secret").write_text("never sent")
    (folder / "large").write_bytes(os.urandom(1 << 20))
    loop = Loop()
    bench = connect(loop, cluster, upload=str(folder))
    bench.until(lambda: bench.told.is_up)
    assert not bench.told.cannot
    yield bench
    bench.stop()
    if not is_gone(cluster.gcs):
        wait_for_programs(cluster)
    loop.close()


def join(bench: Bench, cluster: RayCluster) -> tuple[str, int]:
    """Adds a machine. Returns its node, and the pid of its raylet."""
    before = firsts(bench)
    raylet = cluster.add()
    bench.until(lambda: len(firsts(bench) - before) == 1)
    (new,) = firsts(bench) - before
    return new, raylet


def firsts(bench: Bench) -> set[str]:
    """The first node of each machine: a machine whose node program has died gets another one."""
    return {node for node in bench.told.up if re.search("-[0-9a-f]{8}$", node)}


def on_machine(bench: Bench, node: str) -> set[str]:
    """All nodes that were up on the machine of this one."""
    first = re.sub("(-[0-9a-f]{8})-[0-9]+$", r"\1", node)
    return {one for one in bench.told.up if one.startswith(first)}


def live(bench: Bench, cluster: RayCluster, count: int) -> list[str]:
    """As many nodes that are up; adds machines if there are too few."""
    while len(found := [node for node in bench.told.up if node not in bench.told.gone]) < count:
        join(bench, cluster)
    return found[:count]


def wait_for_programs(cluster: RayCluster) -> None:
    """Until no node program is left."""
    for process in cluster.processes():
        try:
            if ECHO in process.cmdline():
                wait_for_end(process.pid)
        except psutil.NoSuchProcess:
            continue


def wait_for_end(*pids: int) -> None:
    """The raylet, which gets what a dead actor leaves, may not look at once at those that have ended."""
    wait_until(lambda: all(map(is_gone, pids)))


def check_bytes(bench: Bench, nodes: list[str]) -> None:
    data = b"".join(b"%08d" % number for number in range(400_000))
    for node in nodes:
        bench.told.said[node].clear()
        bench.carrier.send(node, data)
    bench.until(lambda: all(len(bench.told.said[node]) >= len(data) for node in nodes))
    assert all(bench.told.said[node] == data for node in nodes)


def test_bytes_go_to_each_node_and_back_in_order(bench, cluster):
    check_bytes(bench, live(bench, cluster, 2))


def test_each_node_gets_the_uploaded_folder_before_all_else(bench, cluster):
    for node in live(bench, cluster, 2):
        assert bench.ask(node, "!files\n") == ".gitignore 7, large 1048576, . 0"


def test_the_node_program_has_the_environment_of_the_machine(bench, cluster):
    (node,) = live(bench, cluster, 1)
    found = dict(pair.split("=", 1) for pair in bench.ask(node, "!env\n").split("\0"))
    assert found["PATH"] == cluster.env["PATH"]
    assert not found.keys() & {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "RAY_JOB_ID", "LD_PRELOAD", "RAY_AUTH_TOKEN"}
    assert bench.ask(node, "!cwd\n") == "/"


def test_a_node_program_that_ends_is_told_with_its_last_words(bench, cluster):
    first, other = live(bench, cluster, 2)
    bench.carrier.send(first, b"!exit")
    bench.until(lambda: first in bench.told.gone)
    assert bench.told.gone[first] == "its node program has ended (exit 7): the last words"
    bench.carrier.send(first, b"nobody reads this")
    assert bench.ask(other, "still here\n") == "still here"


@pytest.mark.parametrize("end", ["kill", "remove"])
def test_a_machine_that_joins_is_used_and_one_that_is_killed_or_removed_is_lost(bench, cluster, end):
    node, raylet = join(bench, cluster)
    pids = bench.pids(node)
    getattr(cluster, end)(raylet)
    bench.until(lambda: node in bench.told.gone)
    assert "has left the cluster, or cannot be reached" in bench.told.gone[node]
    wait_for_end(*pids)


def test_a_killed_actor_is_a_lost_node_that_leaves_nothing_and_its_machine_gets_another_one(bench, cluster):
    (node,) = live(bench, cluster, 1)
    before = on_machine(bench, node)
    program, actor = bench.pids(node)
    os.kill(actor, signal.SIGKILL)
    bench.until(lambda: node in bench.told.gone)
    assert "the process of Ray that carries its bytes" in bench.told.gone[node]
    wait_for_end(program)
    bench.until(lambda: bool(on_machine(bench, node) - before))
    for again in on_machine(bench, node) - before:
        assert bench.ask(again, "here again\n") == "here again"


def test_a_closed_node_ends_by_itself_and_a_killed_process_for_ray_ends_all(loop, cluster):
    bench = connect(loop, cluster)
    bench.until(lambda: bench.told.is_up)
    closed, *_others = nodes = list(bench.told.up)
    pids = [bench.pids(node)[0] for node in nodes]
    bench.carrier.close_node(closed)
    bench.until(lambda: closed in bench.told.gone)
    assert "exit 0" in bench.told.gone[closed]
    wait_for_end(pids[0])
    assert bench.carrier.child is not None
    bench.carrier.child.kill_group(signal.SIGKILL)
    assert "signal SIGKILL" in bench.until_failed()
    bench.stop()
    wait_for_end(*pids)


def test_bytes_go_over_the_port_for_clients(loop, cluster):
    bench = connect(loop, cluster, address=cluster.client_address)
    bench.until(lambda: bench.told.is_up)
    nodes = list(bench.told.up)
    check_bytes(bench, nodes)
    pids = [bench.pids(node)[0] for node in nodes]
    bench.stop()
    wait_for_end(*pids)


def test_another_version_of_zot_is_named(loop, cluster):
    bench = connect(loop, cluster, version="9.9.9")
    bench.until(lambda: bench.told.is_up)
    assert not bench.told.up
    assert len(bench.told.cannot) >= 2
    for reason in bench.told.cannot.values():
        assert f"has zot {VERSION}, and here is 9.9.9: pip install pyzot==9.9.9 there" in reason
    bench.stop()


def test_a_wrong_token_is_named(loop, cluster):
    bench = connect(loop, cluster, more_env={"RAY_AUTH_TOKEN": "0" * 32})
    assert bench.until_failed() == (
        "the Ray cluster does not accept the token: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as there,"
        " or copy its ~/.ray/auth_token"
    )
    bench.stop()


def test_bytes_flow_while_the_object_store_is_full(bench, cluster):
    nodes = live(bench, cluster, 2)
    program = [sys.executable, FILLING, cluster.address]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(program, cwd="/", env=cluster.env, **pipes) as filling:
        assert filling.stdout.readline() == b"full\n"
        check_bytes(bench, nodes)
        filling.stdin.close()


def test_a_killed_head_fails_the_carrier(loop, cluster):
    """The last one: no cluster is left. Without the variable Ray tries for 60 s, as the raylets do here."""
    bench = connect(loop, cluster, more_env={"RAY_gcs_rpc_server_reconnect_timeout_s": "3"})
    bench.until(lambda: bench.told.is_up)
    node = next(iter(bench.told.up))
    os.kill(cluster.gcs, signal.SIGKILL)
    assert bench.ask(node, "still here\n") == "still here"
    assert bench.until_failed().startswith("the head of the Ray cluster is gone, or does not answer: ")
    bench.stop()
