"""In a cgroup that systemd has delegated to a service, the kernel holds the limits of extensions."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from supervisor.cleanup import tracker
from supervisor.process.cgroups import Cgroups
from tests.support.fake_cgroups import HOST, FakeCgroups
from tests.support.host import Host
from wire.manifest import Limits

if TYPE_CHECKING:
    from pathlib import Path

SERVICE = "/system.slice/zot-host.service"
ALL = frozenset({"memory", "pids", "cpu"})
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="cgroups are Linux's")


def detect(tree: FakeCgroups) -> Cgroups:
    made = Cgroups.detect(HOST, {}, tree)
    assert isinstance(made, Cgroups), made
    return made


def check_limits(tree: FakeCgroups, cgroups: Cgroups) -> None:
    """Each limit of an extension is written into a leaf that has its controller."""
    assert (cgroups.controllers, cgroups.shortage) == (ALL, "")
    leaf = cgroups.leaf("x", Limits(rss_mb=64, processes=10, cpu_percent=150))
    assert leaf.controllers == ALL
    written = [tree.read(f"{leaf.path}/{file}") for file in ("memory.max", "pids.max", "cpu.max")]
    assert written == [str(64 * 2**20), "10", "150000 100000"]
    leaf.close()


def test_the_only_process_of_a_service_moves_into_a_leaf(tmp_path: Path):
    tree = FakeCgroups(tmp_path, own=SERVICE)
    tree.delegated.add(tree.own)
    cgroups = detect(tree)
    assert tree.procs(tree.own) == []
    assert tree.procs(f"{tree.own}/zot-{HOST}/host") == [HOST]
    check_limits(tree, cgroups)
    cgroups.close()
    assert (tree.procs(tree.own), tree.folders(tree.own)) == ([HOST], [])


def test_a_process_of_a_reload_is_beside_the_leaves(tmp_path: Path):
    tree = FakeCgroups(tmp_path, own=SERVICE)
    cgroups = detect(tree)
    tree.make(f"{tree.own}/.control")  # where systemd starts ExecReload of a service with Delegate=
    tree.move(f"{tree.own}/.control", 77)
    check_limits(tree, cgroups)
    assert tree.procs(f"{tree.own}/.control") == [77]


def test_a_subgroup_of_a_delegated_service_is_left_for_it(tmp_path: Path):
    tree = FakeCgroups(tmp_path, own=f"{SERVICE}/main", controllers="")
    service = os.path.dirname(tree.own)
    tree.populate(service, "cpu io memory pids")
    tree.delegated.add(service)
    cgroups = detect(tree)
    assert cgroups.path == f"{service}/zot-{HOST}"
    assert (tree.procs(service), tree.procs(tree.own)) == ([], [])
    check_limits(tree, cgroups)


@pytest.mark.parametrize(
    ("own", "delegated", "beside"),
    [
        (f"{SERVICE}/main", False, ()),
        (f"{SERVICE}/main", True, (5,)),
        ("/user.slice/user@1000.service/x.service", True, ()),
    ],
)
def test_a_cgroup_above_that_is_not_ours_is_left_alone(tmp_path: Path, own: str, delegated: bool, beside: tuple[int]):
    tree = FakeCgroups(tmp_path, own=own)
    above = os.path.dirname(tree.own)
    tree.populate(above, "cpu io memory pids")
    tree.put(f"{above}/cgroup.procs", "".join(f"{pid}\n" for pid in beside))
    if delegated:
        tree.delegated.add(above)
    assert detect(tree).path == f"{tree.own}/zot-{HOST}"
    assert tree.read(f"{above}/cgroup.subtree_control") == ""


def test_the_host_moves_before_it_has_a_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    children: list[int] = []
    host = Host(tmp_path, runtime_folder=tmp_path / "run")
    detect_cgroups = Cgroups.detect

    def look(*args: object) -> object:
        children.append(len(host.loop.children))
        return detect_cgroups(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(tracker.Cgroups, "detect", look)
    with host:
        host.add("echo")
        host.start()
        assert host.loop.children, "the reaper and the extension"
    assert children == [0]
