"""Of an extension's tree the busiest process is profiled that can be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.process.table import Identity
from supervisor.profile.choice import Candidate, choose
from supervisor.profile.errors import ProfileError
from supervisor.profile.program_kind import RunningProgram

PYTHON, NODE, SHELL = (RunningProgram(path, [path]) for path in ("/usr/bin/python3", "/usr/bin/node", "/usr/bin/dash"))
NPX = RunningProgram("/usr/bin/node", ["node", "/usr/bin/npx", "server"])


def one(pid: int, program: RunningProgram, busy_s: float = 0.0, depth: int = 0) -> Candidate:
    return Candidate(Identity(pid, pid), program, busy_s, depth)


def test_the_busiest_is_chosen():
    assert choose([one(1, PYTHON), one(2, NODE, 0.2, 1), one(3, PYTHON, 0.1, 2)]).identity.pid == 2


def test_of_idle_ones_the_worker_itself():
    assert choose([one(3, PYTHON, depth=1), one(2, PYTHON)]).identity.pid == 2


def test_a_launcher_is_no_match_for_what_it_has_started():
    assert choose([one(1, NPX, 0.25), one(2, SHELL, 0.25, 1), one(3, NODE, depth=2)]).identity.pid == 3
    assert choose([one(1, NPX)]).identity.pid == 1


def test_a_tree_without_python_and_node_is_refused_by_its_programs():
    with pytest.raises(ProfileError) as refused:
        choose([one(1, SHELL), one(2, RunningProgram("/usr/bin/sleep", ()), depth=1), one(3, SHELL, depth=2)])
    assert str(refused.value) == "cannot be profiled: it is neither Python nor Node: /usr/bin/dash, /usr/bin/sleep"
    with pytest.raises(ProfileError, match=r": /p/0, /p/1, /p/2 and 3 more$"):
        choose([one(pid, RunningProgram(f"/p/{pid}", ()), depth=pid) for pid in range(6)])
    with pytest.raises(ProfileError, match=r"a program that this user may not see$"):
        choose([one(1, RunningProgram("", ()))])


CANDIDATES = st.lists(
    st.builds(
        one, st.integers(1, 99), st.sampled_from([PYTHON, NODE, SHELL, NPX]), st.sampled_from([0.0, 0.1, 0.2]),
        st.integers(0, 5),
    ),
    min_size=1,
)  # fmt: skip


@given(CANDIDATES)
def test_no_process_that_can_be_profiled_is_busier_than_the_chosen_one(tree: list[Candidate]):
    able = [each for each in tree if each.program.kind is not None]
    if not able:
        with pytest.raises(ProfileError):
            choose(tree)
        return
    chosen = choose(tree)
    assert chosen in able
    rivals = [each for each in able if each.program.is_launcher <= chosen.program.is_launcher]
    assert all(each.busy_s <= chosen.busy_s for each in rivals)
