"""When a frame is what a script expects."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.harness.comparison import ANY, ScriptPaths, compact_json, differences
from tests.supervisor.harness.test_script import JSON

PLACES = ScriptPaths(cwd="/tmp/z/project", extension_dir="/home/me/ext", data_dir="/home/me/ext/data")


@given(JSON)
def test_everything_is_itself(value):
    assert differences(value, value) == []


@given(st.dictionaries(st.text(max_size=3), JSON), st.dictionaries(st.text(max_size=3), JSON))
def test_objects_may_have_more(expected, more):
    assert differences(expected, {**more, **expected}) == []


@given(JSON, JSON)
def test_any_stands_for_anything_that_is_there(value, other):
    assert differences({"a": [ANY, 1]}, {"a": [value, 1]}) == []
    assert differences(ANY, other) == []
    (difference,) = differences({"a": ANY}, {})
    assert difference == ("a", "anything", "nothing")


@pytest.mark.parametrize(
    ("expected", "said", "path"),
    [
        ({"a": 1}, {"a": 2}, "a"),
        ({"a": 1}, {"a": True}, "a"),
        ({"a": False}, {"a": 0}, "a"),
        ({"a": 1}, {}, "a"),
        ({"a": {"b": [1, {"c": "x"}]}}, {"a": {"b": [1, {"c": "y"}]}}, "a.b[1].c"),
        ({"a": [1]}, {"a": [1, 2]}, "a"),
        ({"a": []}, {"a": {}}, "a"),
        ({"a": "took ${any} ms"}, {"a": "took 5 s"}, "a"),
        ([1], "x", "the frame"),
    ],
)
def test_differences_name_the_place(expected, said, path):
    assert [difference.path for difference in differences(expected, said)] == [path]


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ({"a": 1}, {"a": 1.0}),
        ({"a": None}, {}),
        ({}, {"a": 1}),
        ({"a": "took ${any} ms"}, {"a": "took 5\n6 ms"}),
        ({"a": "(${any}"}, {"a": "(x"}),
    ],
)
def test_what_is_the_same(expected, said):
    assert differences(expected, said) == []


def test_long_texts_are_shown_where_they_differ():
    (difference,) = differences({"a": "x" * 500 + "1"}, {"a": "x" * 500 + "2"})
    assert difference.expected.endswith('x1"')
    assert difference.said.endswith('x2"')
    assert len(difference.said) < 60
    assert compact_json("y" * 900).endswith("… (902 characters)")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/tmp/z/project", "${cwd}"),
        ("in /tmp/z/project.", "in ${cwd}."),
        ("/tmp/z/project/a.txt", "${cwd}/a.txt"),
        ("/tmp/z/projects", "/tmp/z/projects"),
        ("/tmp/z/project.old", "/tmp/z/project.old"),
        ("/home/me/ext/data/x and /home/me/ext/main.py", "${data_dir}/x and ${extension_dir}/main.py"),
    ],
)
def test_paths_get_names_and_back(path, name):
    assert PLACES.hide({"a": [path]}) == {"a": [name]}
    assert PLACES.fill([name]) == [path]
