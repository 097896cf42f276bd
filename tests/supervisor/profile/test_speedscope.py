"""Profiles are read, and those of Node become speedscope files."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.profile.errors import ProfileError
from supervisor.profile.outcome import HotSpot, Profile
from supervisor.profile.speedscope import (
    HOT_SPOTS,
    Frame,
    Speedscope,
    ThreadSamples,
    _SharedFrames,
    decode,
    encode,
    from_node,
    hot_spots,
)
from tests.support.any_json import json_values


def of(*threads: ThreadSamples, frames: tuple[Frame, ...]) -> Speedscope:
    return Speedscope(_SharedFrames(frames), threads)


FRAMES = (Frame("main", "/ext/main.py", 9), Frame("spin", "/ext/main.py", 4), Frame("spin", "/ext/main.py", 5))


def test_the_hot_spots_are_functions_with_their_hottest_line():
    thread = ThreadSamples('Thread 7 "MainThread"', ((0, 1), (0, 2), (0, 2), (0,)), (1.0, 2.0, 1.0, 0.5))
    assert hot_spots(of(thread, frames=FRAMES), {}, 5.0) == (
        HotSpot("spin", "ext/main.py:5", 4.0, 80.0), HotSpot("main", "ext/main.py:9", 0.5, 10.0),
    )  # fmt: skip


def test_a_busy_thread_comes_before_the_waits_of_idle_ones():
    frames = (Frame("wait", "threading.py", 3), Frame("spin", "main.py", 4))
    idle = [ThreadSamples(f"Thread {number}", ((0,),), (2.0,)) for number in (1, 2, 3)]
    busy = ThreadSamples("Thread 9", ((1,),), (2.0,))
    named = [spot.function for spot in hot_spots(of(*idle, busy, frames=frames), {1: 0, 2: 0, 3: 0, 9: 1.5}, 2.0)]
    assert named == ["spin", "wait"]
    named = [spot.function for spot in hot_spots(of(*idle, busy, frames=frames), dict.fromkeys((1, 2, 3, 9), 0), 2.0)]
    assert named == ["wait", "spin"]


def test_at_most_five_are_named_and_an_idle_process_has_none():
    frames = tuple(Frame(f"f{number}") for number in range(9))
    thread = ThreadSamples("Thread 1", tuple((number,) for number in range(9)), (1.0,) * 9)
    assert len(hot_spots(of(thread, frames=frames), {}, 9.0)) == HOT_SPOTS
    assert hot_spots(of(ThreadSamples("node", ((), ()), (1.0, 1.0)), frames=()), {}, 2.0) == ()


def test_a_file_with_an_unknown_frame_is_refused():
    good = of(ThreadSamples("t", ((0,),), (1.0,)), frames=(Frame("f"),))
    assert decode(encode(good)) == good
    with pytest.raises(ProfileError):
        decode(encode(of(ThreadSamples("t", ((1,),), (1.0,)), frames=(Frame("f"),))))
    with pytest.raises(ProfileError):
        decode(b"[]")


def call(name: str, url: str = "", line: int = -1) -> dict[str, Any]:
    return {"functionName": name, "scriptId": "1", "url": url, "lineNumber": line, "columnNumber": 1}


def test_a_profile_of_node_becomes_stacks_and_idle_time_an_empty_one():
    given_profile = {
        "nodes": [
            {"id": 1, "callFrame": call("(root)"), "children": [2, 3]},
            {"id": 2, "callFrame": call("(idle)")},
            {"id": 3, "callFrame": call("", "file:///ext/main.js", 6), "children": [4]},
            {"id": 4, "callFrame": call("spin", "file:///ext/main.js", 2)},
        ],
        "startTime": 1000, "endTime": 8000, "samples": [2, 4, 4, 3], "timeDeltas": [1000, 2000, 1000, 2000],
    }  # fmt: skip
    found = from_node(given_profile, "node 7")
    assert found.shared.frames == (Frame("(anonymous)", "/ext/main.js", 7), Frame("spin", "/ext/main.js", 3))
    (thread,) = found.profiles
    assert thread.samples == ((), (0, 1), (0, 1), (0,))
    assert thread.weights == (0.002, 0.001, 0.002, 0.001)
    assert [spot.function for spot in hot_spots(found, {}, 0.007)] == ["spin", "(anonymous)"]


def node(number: int, size: int) -> dict[str, Any]:
    """A node of a tree in which each has at most two children."""
    children = [child for child in (2 * number, 2 * number + 1) if child <= size]
    return {"id": number, "callFrame": call(f"f{number}"), "children": children}


TREES = st.integers(1, 12).flatmap(
    lambda size: st.fixed_dictionaries({
        "nodes": st.permutations([node(number, size) for number in range(1, size + 1)]),
        "samples": st.lists(st.integers(1, size), max_size=30),
        "timeDeltas": st.lists(st.integers(-5, 10**6), max_size=35),
        "startTime": st.just(0), "endTime": st.integers(0, 10**8),
    })
)  # fmt: skip


@given(TREES)
def test_each_stack_ends_in_its_sample_and_begins_at_the_root(tree: dict[str, Any]):
    found = from_node(tree, "node")
    (thread,) = found.profiles
    assert len(thread.samples) == len(thread.weights) == len(tree["samples"])
    for stack, sample in zip(thread.samples, tree["samples"], strict=True):
        names = [found.shared.frames[number].name for number in stack]
        assert names[0] == "f1"
        assert names[-1] == f"f{sample}"
        assert all(int(lower[1:]) // 2 == int(upper[1:]) for upper, lower in pairwise(names))
    assert all(weight >= 0 for weight in thread.weights)


@given(json_values)
def test_anything_else_is_refused_in_one_way(value: Any):
    try:
        from_node(value, "node")
    except ProfileError:
        pass


@given(st.lists(st.tuples(st.integers(0, 4), st.lists(st.integers(0, 4), max_size=4)), max_size=6))
def test_a_tree_in_a_circle_ends(nodes: list[tuple[int, list[int]]]):
    made = [{"id": id_, "callFrame": call("f"), "children": children} for id_, children in nodes]
    from_node({"nodes": made, "samples": [0, 1, 2, 3, 4, 9], "timeDeltas": []}, "node")


def test_the_headline_names_the_hottest_function():
    spot = HotSpot("spin", "ext/main.py:5", 1.9, 95.4)
    made = Profile("/f", 7, "python3", "python", 2, 1.9, (spot,))
    assert made.headline == "95 % in spin (ext/main.py:5)"
    assert Profile("/f", 7, "node", "node", 2, 0, ()).headline == "no function ran"
