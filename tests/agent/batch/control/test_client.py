"""The words of the client of a batch."""

from __future__ import annotations

from agent.batch.control.client import hint_for
from agent.batch.tasks.repeat import repeated
from wire.batch.task import Task


def test_the_id_of_a_repeated_task_gets_its_repetitions_as_a_hint() -> None:
    tasks = repeated([Task(id="fix", prompt="go")], 3)
    assert hint_for("fix", tasks) == "it is repeated: name one of its repetitions, such as 'fix#1'"
    assert "fix#2" in hint_for("fix#22", tasks)
    assert hint_for("other", tasks) == ""
