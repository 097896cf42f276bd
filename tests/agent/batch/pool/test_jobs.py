from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from agent.batch.pool.jobs import MIB, available_memory, cores, default_jobs, jobs_within

if TYPE_CHECKING:
    from pathlib import Path


@given(st.floats(0.1, 256), st.none() | st.integers(0, 1 << 45), st.none() | st.integers(1, 1 << 40))
def test_at_least_one_and_at_most_the_cores(count: float, available: int | None, run_memory: int | None) -> None:
    assert 1 <= default_jobs(count, available, run_memory) <= max(1, count + 1)


def test_memory_bounds_the_jobs() -> None:
    assert default_jobs(8, None, None) == 8
    assert default_jobs(8, 64_000 * MIB, None) == 8
    assert default_jobs(8, 1_300 * MIB, None) == 4
    assert default_jobs(8, 1_300 * MIB, 500 * MIB) == 2
    assert default_jobs(0.5, 100 * MIB, None) == 1


def test_the_limits_of_a_container_count(tmp_path: Path) -> None:
    proc, cgroups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n")
    (proc / "self" / "cgroup").write_text("0::/a/b\n")
    (cgroups / "a" / "b").mkdir(parents=True)
    (cgroups / "a" / "cpu.max").write_text("50000 100000\n")
    (cgroups / "a" / "b" / "cpu.max").write_text("max 100000\n")
    (cgroups / "a" / "b" / "memory.max").write_text("1000000000\n")
    (cgroups / "a" / "b" / "memory.current").write_text("600000000\n")
    (cgroups / "a" / "b" / "memory.stat").write_text("anon 1\ninactive_file 100000000\n")
    assert cores(proc, cgroups) == 0.5
    assert available_memory(proc, cgroups) == 500_000_000
    assert available_memory(tmp_path, cgroups) is None


def test_descriptors_bound_the_jobs() -> None:
    assert jobs_within(32, 1 << 20) == 32
    assert jobs_within(32, 150) == 7
    assert jobs_within(32, 20) == 1
