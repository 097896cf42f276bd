"""Cgroup leaves are made where the kernel permits it; elsewhere the reason is given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from supervisor.process.cgroup_files import kill_leaves, members, remove_leaves
from supervisor.process.cgroup_survey import OPT_OUT, CgroupDir, Unavailable, own_cgroup, survey, unified_mount
from supervisor.process.cgroups import Cgroups
from supervisor.process.spawn_limits import Confinement, limit_command
from tests.support.fake_cgroups import HOST, FakeCgroups, refuse
from tests.support.killed_host import collect_orphans
from wire.manifest import Limits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ALL = frozenset({"memory", "pids", "cpu"})
LIMITS = Limits(rss_mb=64, processes=10, cpu_percent=150)
HYBRID = (
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="cgroups are Linux's")


def detect(tree: FakeCgroups) -> Cgroups:
    made = Cgroups.detect(HOST, {}, tree)
    assert isinstance(made, Cgroups), made
    return made


def reason(tree: FakeCgroups, environ: dict[str, str] | None = None) -> str:
    made = Cgroups.detect(HOST, environ or {}, tree)
    assert isinstance(made, Unavailable)
    assert not tree.exists(f"{tree.own}/zot-{HOST}")
    return made.reason


# --- looking ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0::/\n", "/"),
        ("9:name=systemd:/\n4:memory:/x\n0::/user.slice/a b.scope\n", "/user.slice/a b.scope"),
        ("0::/gone (deleted)\n", "/gone"),
        ("4:memory:/x\n", None),
        ("", None),
        ("nonsense", None),
    ],
)
def test_the_own_cgroup(text: str, expected: str | None):
    assert own_cgroup(text) == expected


@pytest.mark.parametrize(
    ("line", "inside", "expected"),
    [
        ("29 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw", "/a/b", "/sys/fs/cgroup/a/b"),
        ("29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "/", "/sys/fs/cgroup"),
        ("29 23 0:26 / /with\\040space rw shared:4 master:2 - cgroup2 none rw", "/a", "/with space/a"),
        ("29 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw", "/docker/x/y", "/sys/fs/cgroup/y"),
        ("29 23 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw", "/docker/xy", None),
        ("29 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw", "/../..", None),
    ],
)
def test_where_a_cgroup_is_to_be_seen(line: str, inside: str, expected: str | None):
    mount = unified_mount(line)
    assert mount is not None
    assert mount.locate(inside) == expected
    assert not mount.is_read_only


@pytest.mark.parametrize("text", ["", "x", "29 23 0:26 / /s rw - cgroup cgroup rw,cpu", "a b c d e f g", HYBRID[:70]])
def test_without_such_a_mount(text: str):
    assert unified_mount(text) is None


FAULTS: dict[str, tuple[Callable[[FakeCgroups], object], str]] = {
    "no files": (lambda tree: tree.real("/proc/self/cgroup").unlink(), "cannot be examined: "),
    "only v1": (lambda tree: tree.put("/proc/self/cgroup", "4:memory:/\n"), "there is no cgroup v2 hierarchy"),
    "no mount": (lambda tree: tree.put("/proc/self/mountinfo", ""), "there is no cgroup v2 hierarchy"),
    "elsewhere": (lambda tree: tree.put("/proc/self/cgroup", "0::/elsewhere\n"), "our cgroup /elsewhere is outside"),
    "read-only": (
        lambda tree: tree.put("/proc/self/mountinfo", "29 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup2 ro"),
        "/sys/fs/cgroup is mounted read-only",
    ),
    "threaded": (lambda tree: tree.put(f"{tree.own}/cgroup.type", "threaded\n"), "is a threaded cgroup"),
    "not ours": (
        lambda tree: setattr(tree, "may_write", lambda _path: False),
        "may not be written to; systemd can hand one over",
    ),
    "no folder": (lambda tree: tree.refused.add("zot.scope"), "Permission denied; limits are watched by sampling"),
    "no move": (lambda tree: tree.refused.add("host/cgroup.procs"), "Permission denied; limits are watched"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_stands_in_the_way_is_a_reason(tmp_path: Path, fault: str):
    change, expected = FAULTS[fault]
    tree = FakeCgroups(tmp_path)
    change(tree)
    assert expected in reason(tree)
    if tree.exists(f"{tree.own}/cgroup.procs"):
        assert tree.procs(tree.own) == [HOST]


def test_it_can_be_switched_off(tmp_path: Path):
    tree = FakeCgroups(tmp_path)
    assert reason(tree, {OPT_OUT: "1"}) == f"switched off by {OPT_OUT}"
    assert isinstance(survey(HOST, {OPT_OUT: "0"}, tree), CgroupDir)


def test_a_survey_changes_nothing(tmp_path: Path):
    tree = FakeCgroups(tmp_path)
    before = {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    place = survey(HOST, {}, tree)
    assert isinstance(place, CgroupDir)
    assert (place.controllers, place.shortage) == (ALL, "")
    assert {path: path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == before


# --- making -------------------------------------------------------------------------------------------------


def test_a_host_alone_moves_and_passes_limits_on(tmp_path: Path):
    tree = FakeCgroups(tmp_path)
    cgroups = detect(tree)
    assert (cgroups.controllers, cgroups.shortage) == (ALL, "")
    assert tree.procs(f"{cgroups.path}/host") == [HOST]
    leaf = cgroups.leaf("x", LIMITS)
    assert leaf.controllers == ALL
    assert tree.read(f"{leaf.path}/memory.max") == str(64 * 1024 * 1024)
    assert tree.read(f"{leaf.path}/pids.max") == "10"
    assert tree.read(f"{leaf.path}/cpu.max") == "150000 100000"
    assert leaf.join_file == tree.real(f"{leaf.path}/cgroup.procs")
    assert leaf.close()
    assert leaf.close(), "again"
    cgroups.close()
    assert tree.procs(tree.own) == [HOST]
    assert tree.read(f"{tree.own}/cgroup.subtree_control") == ""
    assert tree.folders(tree.own) == []


def test_a_leaf_gets_new_limits_and_loses_those_that_are_removed(tmp_path: Path):
    tree = FakeCgroups(tmp_path)
    leaf = detect(tree).leaf("x", Limits(processes=20))

    def files() -> list[str]:
        return [tree.read(f"{leaf.path}/{name}") for name in ("memory.max", "pids.max", "cpu.max")]

    assert files() == ["", "20", ""], "the default of the kernel, which is no limit, is not written"
    leaf.limit(Limits(rss_mb=300, cpu_percent=50))
    assert files() == [str(300 << 20), "max", "50000 100000"]
    leaf.limit(Limits(rss_mb=200))
    assert files() == [str(200 << 20), "max", "max"]
    tree.refused.add("memory.max")
    leaf.limit(Limits(rss_mb=100))
    assert leaf.controllers == ALL - {"memory"}, "sampling watches it from now on"


def test_the_root_of_the_hierarchy_needs_no_move(tmp_path: Path):
    tree = FakeCgroups(tmp_path, own="/", others=(1, 2), enabled="cpu")
    cgroups = detect(tree)
    assert cgroups.controllers == ALL
    assert tree.procs(tree.own) == [HOST, 1, 2]
    cgroups.close()
    assert tree.read(f"{tree.own}/cgroup.subtree_control") == "cpu", "as it was"
    assert tree.folders(tree.own) == []


def test_next_to_other_processes_leaves_can_only_be_killed(tmp_path: Path):
    tree = FakeCgroups(tmp_path, others=(7,))
    cgroups = detect(tree)
    assert cgroups.controllers == frozenset()
    assert "other processes share" in cgroups.shortage
    assert tree.procs(tree.own) == [HOST, 7]
    leaf = cgroups.leaf("x", LIMITS)
    assert leaf.controllers == frozenset()
    assert leaf.kill()
    assert tree.read(f"{leaf.path}/cgroup.kill") == "1"
    leaf.close()
    cgroups.close()
    assert tree.folders(tree.own) == []


def test_a_hybrid_system_has_the_limits_elsewhere(tmp_path: Path):
    tree = FakeCgroups(
        tmp_path, own="/", mounts=HYBRID, point="/sys/fs/cgroup/unified", controllers="hugetlb", others=(1,)
    )
    cgroups = detect(tree)
    assert cgroups.path == f"/sys/fs/cgroup/unified/zot-{HOST}"
    assert cgroups.controllers == frozenset()
    assert "has no controller for memory, pids, cpu" in cgroups.shortage


def test_a_controller_that_the_kernel_refuses_is_left_to_sampling(tmp_path: Path):
    tree = FakeCgroups(tmp_path)
    switch = tree.switch

    def without_cpu(folder: str, on: bool, name: str) -> None:
        if name == "cpu":
            refuse(22)
        switch(folder, on, name)

    tree.switch = without_cpu
    cgroups = detect(tree)
    assert cgroups.controllers == ALL - {"cpu"}
    assert "refused to pass cpu on" in cgroups.shortage
    cgroups.close()
    assert tree.procs(tree.own) == [HOST]


def test_a_limit_that_the_kernel_refuses_is_left_to_sampling(tmp_path: Path):
    tree = FakeCgroups(tmp_path)
    tree.refused.add("memory.max")
    leaf = detect(tree).leaf("x", LIMITS)
    assert leaf.controllers == ALL - {"memory"}
    assert tree.read(f"{leaf.path}/pids.max") == "10"


@pytest.mark.parametrize(
    ("controllers", "limits", "expected"),
    [
        ("cpu memory pids", Limits(), False),
        ("cpu memory pids", Limits(open_files=64, file_mb=1, cpu_seconds=9, frames_per_s=9, log_mb=1), False),
        ("memory", Limits(rss_mb=64), True),
        ("cpu pids", Limits(rss_mb=64), False),
        ("cpu", Limits(cpu_percent=50), True),
        ("", Limits(rss_mb=64, cpu_percent=50), False),
        ("pids", Limits(processes=9), True),
        ("", Limits(processes=9), True),
    ],
)
def test_a_leaf_is_needed_for_what_the_kernel_enforces_and_for_a_limit_of_processes(
    tmp_path: Path, controllers: str, limits: Limits, expected: bool
):
    assert detect(FakeCgroups(tmp_path, controllers=controllers)).is_needed(limits) is expected


def test_a_leaf_that_cannot_be_made_is_a_reason(tmp_path: Path):
    tree = FakeCgroups(tmp_path)
    cgroups = detect(tree)
    tree.refused.add(f"zot-{HOST}")
    leaf = cgroups.leaf("x", LIMITS)
    assert isinstance(leaf, Unavailable)
    assert leaf.reason.endswith("Permission denied; its limits are watched by sampling")


@pytest.mark.parametrize("name", ["../../x", "host", "cgroup.procs", "memory.max", "a b/c", "ünï☃" * 40, "-", "\n"])
def test_any_name_gives_a_leaf_of_its_own(tmp_path: Path, name: str):
    tree = FakeCgroups(tmp_path)
    cgroups = detect(tree)
    paths = {cgroups.leaf(name, Limits()).path for _ in range(2)}
    assert len(paths) == 2
    for path in paths:
        folder, made = os.path.split(path)
        assert folder == cgroups.path
        assert "." not in made
        assert made not in ("host", "")
        assert len(made) < 80


def test_empty_cgroups_of_dead_hosts_are_removed(tmp_path: Path):
    tree = FakeCgroups(tmp_path, own="/", enabled="cpu memory pids")
    tree.put("/proc/99/stat", "")
    for name in ("zot-77/x-1", "zot-77/host", "zot-88/busy-1", "zot-99/x-1", "zot-x/y", "other"):
        for path in (f"{tree.own}/{name.split('/')[0]}", f"{tree.own}/{name}"):
            if not tree.exists(path):
                tree.make(path)
    tree.put(f"{tree.own}/zot-88/busy-1/cgroup.procs", "5\n")
    detect(tree)
    assert sorted(tree.folders(tree.own)) == ["other", f"zot-{HOST}", "zot-88", "zot-99", "zot-x"]
    assert tree.folders(f"{tree.own}/zot-88") == ["busy-1"]


def test_a_folder_left_by_a_host_with_our_pid_is_taken_over(tmp_path: Path):
    tree = FakeCgroups(tmp_path, own="/", enabled="cpu memory pids")
    tree.make(f"{tree.own}/zot-{HOST}")
    assert detect(tree).leaf("x", LIMITS).controllers == ALL


def test_what_a_leaf_counts(tmp_path: Path):
    tree = FakeCgroups(tmp_path)
    leaf = detect(tree).leaf("x", LIMITS)
    assert leaf.memory_kills() == 0, "the file is empty where the kernel counts nothing"
    tree.put(f"{leaf.path}/memory.events", "low 0\nmax 5\noom 1\noom_kill 2\noom_group_kill 7\n")
    tree.put(f"{leaf.path}/cgroup.procs", "11\n12\n0\n")
    assert leaf.memory_kills() == 2
    assert leaf.pids() == [11, 12], "0 is in another pid namespace, and to kill it is to kill ourselves"
    assert not leaf.close(), "a process is in it"
    tree.put(f"{leaf.path}/cgroup.procs", "")
    leaf.close()
    assert leaf.memory_kills() == 0, "the leaf is gone"
    assert leaf.pids() == []
    assert not leaf.kill()


def test_what_a_leafs_processes_made_below_it_is_part_of_it(tmp_path: Path):
    tree = FakeCgroups(tmp_path)
    cgroups = detect(tree)
    leaf = cgroups.leaf("x", Limits())
    for path in ("zot-9", "zot-9/y-1"):
        tree.make(f"{leaf.path}/{path}")
    tree.put(f"{leaf.path}/zot-9/y-1/cgroup.procs", "12\n")
    assert leaf.pids() == [12]
    assert members(str(cgroups.real_path)) == {12}
    assert not leaf.close()
    tree.put(f"{leaf.path}/zot-9/y-1/cgroup.procs", "")
    assert leaf.close()
    assert not tree.exists(leaf.path)


def test_a_kernel_without_cgroup_kill(tmp_path: Path):
    tree = FakeCgroups(tmp_path)
    leaf = detect(tree).leaf("x", LIMITS)
    tree.real(f"{leaf.path}/cgroup.kill").unlink()
    with subprocess.Popen(["sleep", "600"]) as child:
        tree.put(f"{leaf.path}/cgroup.procs", f"{child.pid}\n")
        assert leaf.kill()
        assert child.wait() == -signal.SIGKILL


# --- the kernel's own ---------------------------------------------------------------------------------------


@pytest.fixture
def real():
    made = Cgroups.detect()
    if isinstance(made, Unavailable):
        pytest.skip(made.reason)
    yield made
    made.close()
    assert not made.real_path.exists()


def confined(leaf, script: str) -> subprocess.Popen[bytes]:
    argv = limit_command(["/bin/sh", "-c", script], Confinement(join_file=leaf.join_file), os.environ)
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def test_a_real_leaf_holds_what_left_its_session(real: Cgroups):
    leaf = real.leaf("x/y", LIMITS)
    with confined(leaf, "env -i setsid sh -c 'sleep 600 & sleep 600 & echo; wait' >&1 & wait") as child:
        child.stdout.readline()
        # The shell that sleeps in its own session may not have forked its last, but it is in there.
        assert child.pid in leaf.pids()
        assert len(leaf.pids()) >= 3
        assert leaf.memory_kills() == 0
        assert not leaf.close()
        assert members(str(real.real_path)) >= {child.pid}
        assert leaf.kill()
        assert child.wait() == -signal.SIGKILL
        assert child.stdout.read() == b"", "end of file: all that held it are gone"
        assert child.stderr.read() == b""
    collect_orphans()
    while not leaf.close():
        collect_orphans()


def test_the_reaper_ends_the_processes_of_real_leaves(real: Cgroups):
    leaf = real.leaf("x", Limits())
    with confined(leaf, "setsid sh -c 'echo; sleep 600' & wait") as child:
        child.stdout.readline()
        kill_leaves(str(real.real_path))
        assert child.wait() == -signal.SIGKILL
        assert child.stdout.read() == b""
    while real.real_path.exists():
        collect_orphans()
        remove_leaves(str(real.real_path))


def test_real_limits_where_there_are_controllers(real: Cgroups):
    if "pids" not in real.controllers:
        pytest.skip(real.shortage)
    leaf = real.leaf("x", Limits(processes=1))
    with confined(leaf, "(echo forked) || echo refused") as child:
        assert child.stdout.read() == b"refused\n"
    while not leaf.close():
        collect_orphans()
