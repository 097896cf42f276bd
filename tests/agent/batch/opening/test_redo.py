from __future__ import annotations

import pytest

from agent.batch.opening.redo import RedoError, to_redo
from wire.batch.outcome import TaskStatus

DONE = {"a": TaskStatus.OK, "b": TaskStatus.ERROR, "c": TaskStatus.CHECK_FAILED}
TASKS = [*DONE, "d"]


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ([], ""), (["failed"], "bc"), (["all"], "abc"), (["changed"], "a"), (["b"], "b"), (["d"], ""),
        (["changed", "b"], "ab"),
    ],
)  # fmt: skip
def test_words_name_done_tasks(words: list[str], chosen: str) -> None:
    assert to_redo(words, DONE, ["a"], TASKS) == set(chosen)


def test_an_id_comes_before_a_word() -> None:
    assert to_redo(["failed"], {"failed": TaskStatus.OK, "x": TaskStatus.ERROR}, [], ["failed", "x"]) == {"failed"}


def test_an_unknown_id_is_an_error() -> None:
    with pytest.raises(RedoError, match=r"--redo.*'nope'"):
        to_redo(["nope"], DONE, [], TASKS)
