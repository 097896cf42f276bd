"""Which tasks are run: pure, and the same on every machine."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.tasks import select
from agent.batch.tasks.select import Selection, SelectionError, filter_from, shard_from, slice_from
from wire.batch.task import Task

COUNTS = st.integers(0, 60)
ENDS = st.none() | st.integers(-70, 70)
SEEDS = st.none() | st.integers(0, 2**63 - 1)


def tasks_of(count):
    return [Task(id=f"t{number}", prompt="x", meta={"n": number % 3}) for number in range(count)]


def ids(tasks):
    return [task.id for task in tasks]


@given(COUNTS, ENDS, ENDS)
def test_a_slice_is_pythons(count, start, end):
    text = f"{'' if start is None else start}:{'' if end is None else end}"
    assert Selection(slice=slice_from(text)).apply(tasks_of(count)) == tasks_of(count)[start:end]


@given(COUNTS, ENDS, SEEDS, st.none() | st.integers(0, 70), st.integers(1, 9))
def test_the_shards_together_are_what_one_machine_would_run(count, start, seed, limit, shards):
    tasks = tasks_of(count)
    whole = Selection(slice=(start, None), shuffle_seed=seed, limit=limit)
    parts = [
        Selection(slice=(start, None), shuffle_seed=seed, limit=limit, shard=(index, shards)).apply(tasks)
        for index in range(1, shards + 1)
    ]
    chosen = ids(whole.apply(tasks))
    assert sorted([task.id for part in parts for task in part]) == sorted(chosen), "all of them, and none twice"
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@given(COUNTS, st.integers(0, 2**63 - 1))
def test_a_shuffle_keeps_all_tasks_and_does_not_depend_on_the_order_of_the_file(count, seed):
    tasks = tasks_of(count)
    shuffled = Selection(shuffle_seed=seed).apply(tasks)
    assert sorted(ids(shuffled)) == sorted(ids(tasks))
    assert shuffled == Selection(shuffle_seed=seed).apply(tasks[::-1])


def test_a_seed_gives_the_same_order_on_every_machine():
    known = ["t2", "t7", "t4", "t5", "t1", "t0", "t6", "t3"]
    assert ids(Selection(shuffle_seed=7).apply(tasks_of(8))) == known
    assert ids(Selection(shuffle_seed=8).apply(tasks_of(8))) != known


def test_the_filter_comes_before_the_slice_and_the_limit():
    chosen = Selection(filters=(filter_from("meta.n=1"),), slice=(1, None), limit=2).apply(tasks_of(20))
    assert ids(chosen) == ["t4", "t7"]


TASK = Task(
    id="a1", prompt="Say\nhello", timeout_s=30, max_cost_usd=0.5, tools=("read", "bash"),
    meta={"n": 2, "x.y": "dot", "x": {"y": "path", "z": True}, "none": None},
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("id=a1", True),
        ("id=a", False),
        ("id~^a\\d$", True),
        ("prompt~hello", True),
        ("prompt~^hello", False),
        ("prompt~(?m)^hello", True),
        ("timeout_s=30", True),
        ("max_cost_usd=0.5", True),
        ("tools~bash", True),
        ('tools=["read","bash"]', True),
        ("model=", True),
        ("model~.", False),
        ("meta.n=2", True),
        ("meta.x.y=dot", True),
        ("meta.x.z=true", True),
        ("meta.none=", True),
        ("prompt=Say\nhello", True),
        ("id=", False),
        ("prompt~=", False),
    ],
)
def test_a_filter_compares_texts(text, passes):
    assert (Selection(filters=(filter_from(text),)).apply([TASK]) == [TASK]) is passes


def test_several_filters_have_to_pass_all():
    chosen = Selection(filters=(filter_from("id~1"), filter_from("meta.n=1"))).apply(tasks_of(14))
    assert ids(chosen) == ["t1", "t10", "t13"]


@pytest.mark.parametrize(
    ("make", "text", "said"),
    [
        (filter_from, "modle=x", "--filter 'modle=x': no such field: 'modle'; did you mean 'model'?"),
        (filter_from, "id", "--filter 'id': write field=value or field~regex: model=claude-opus-5, id~^a"),
        (filter_from, "id~(", "--filter 'id~(': not a regular expression: missing ), unterminated subpattern"),
        (filter_from, "__class__=x", "--filter '__class__=x': no such field: '__class__'; fields of a task are id,"),
        (slice_from, "3", "--slice '3': write a:b, as in Python: 0:10, 10:, -5:"),
        (slice_from, "1:2:3", "--slice '1:2:3': write a:b"),
        (slice_from, "a:b", "--slice 'a:b': write a:b"),
        (shard_from, "0/3", "--shard '0/3': write i/n with i from 1 to n: 1/4, 2/4, 3/4, 4/4"),
        (shard_from, "4/3", "--shard '4/3': write i/n"),
        (shard_from, "1", "--shard '1': write i/n"),
    ],
)  # fmt: skip
def test_a_faulty_flag_is_told(make, text, said):
    with pytest.raises(SelectionError, match="^" + re.escape(said)):
        make(text)


def test_a_pattern_that_python_warns_of_can_be_used():
    assert filter_from("id~[[a]").passes(Task(id="a", prompt="x"))


def test_a_key_of_meta_that_no_task_has_is_told():
    with pytest.raises(SelectionError, match=r"--filter meta.m: no task has it; did you mean 'meta.n'\?"):
        Selection(filters=(filter_from("meta.m=1"),)).apply(tasks_of(3))
    assert Selection(filters=(filter_from("meta.m=1"),)).apply([]) == []


def test_a_regex_sees_a_bounded_part_of_a_text(monkeypatch):
    monkeypatch.setattr(select, "MATCHED", 5)
    task = Task(id="a", prompt="x" * 5 + "y")
    assert not filter_from("prompt~y").passes(task)
    assert filter_from("prompt~x{5}$").passes(task)
