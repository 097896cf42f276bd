"""A task's line, and the file name of its id."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wire.batch.task import ID_LENGTH, NAME_LENGTH, Task, TaskError, decode_task, encode_task, safe_name, task_of

LEGAL = re.compile(r"[A-Za-z0-9_~][A-Za-z0-9._~-]*")
IDS = st.one_of(
    st.text(min_size=1, max_size=ID_LENGTH),
    st.text("aAbB._-/~ é", min_size=1, max_size=6),
)


@given(IDS)
@example(".")
@example("..")
@example("-rf")
@example("a" * 200)
@example("A" * 200)
def test_the_name_of_an_id_is_legal_everywhere(task_id):
    name = safe_name(task_id)
    assert LEGAL.fullmatch(name)
    assert len(name) <= NAME_LENGTH
    assert not name.endswith(".")


@given(IDS, IDS)
@example("a", "A")
@example("a/b", "a_b")
@example("...", "..")
@example("a" * 199 + "b", "a" * 200)
def test_two_ids_have_two_names_even_without_case(first, second):
    assert (safe_name(first).lower() == safe_name(second).lower()) == (first == second)


@given(IDS)
def test_a_name_is_its_own_or_has_a_mark(task_id):
    assert safe_name(task_id) == task_id or "~" in safe_name(task_id)


def test_a_plain_id_is_its_own_name():
    assert safe_name("task-17.b_2") == "task-17.b_2"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{}", "prompt is required"),
        (b'{"prompt":""}', "prompt: it is empty"),
        (b'{"prompt":"x","timeut_s":1}', "timeut_s: no such field; did you mean 'timeout_s'?"),
        (b'{"prompt":"x","max_steps":0}', "max_steps: expected int >= 1"),
        (b'{"prompt":"x","timeout_s":NaN}', "not JSON: invalid character (column 27)"),
        (b'{"prompt":"x"', "not JSON: it ends in the middle (column 14)"),
        (b'{"prompt":"\xff"}', "not JSON: this is not UTF-8 (column 12)"),
        (b'{"prompt":"x","id":"a\\nb"}', r"id: 'a\nb' has a character that cannot be printed"),
        (b'{"prompt":"x","id":" a"}', "id: ' a' begins or ends with white space"),
        (b'{"prompt":"x","meta":' + b'{"a":' * 2000, "not JSON: nested too deeply"),
    ],
)
def test_a_faulty_line_is_explained(line, said):
    with pytest.raises(TaskError) as caught:
        decode_task(line)
    assert str(caught.value) == said


def test_a_task_of_fields_is_checked_alike():
    assert task_of({"prompt": "x", "tools": ["read"]}) == Task(prompt="x", tools=("read",))
    with pytest.raises(TaskError, match="id: 'a '"):
        task_of({"prompt": "x", "id": "a "})


def test_what_is_written_is_read():
    task = Task(id="é", prompt="x", files=("/a",), env={"A": "b"}, meta={"a": [1, None]}, timeout_s=2)
    assert decode_task(encode_task(task)) == task
