"""Each task has at most one final outcome, and it is the first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.batch.journal.state import BatchState
from tests.support.batch_journal import outcome
from wire.batch.journal_lines import Closed, Finished, Opened, Paused, Reopened, Resumed, Scored, Started
from wire.batch.outcome import Score, TaskStatus, Usage


def fold(*lines):
    state = BatchState()
    for place, line in enumerate(lines):
        state.take(line, place)
    return state


def started(task="a", attempt=1, digest="", **node):
    return Started(seq=1, t=1.0, task=task, attempt=attempt, digest=digest, **node)


def finished(task="a", attempt=1, status=TaskStatus.OK, final=True, **fields):
    made = outcome(task, attempt, status, **fields)
    return Finished(seq=1, t=1.0, task=task, attempt=attempt, final=final, outcome=made)


REOPENED = Reopened(seq=1, t=1.0, task="a")
OPENED = Opened(seq=1, t=1.0, version="1", pid=1, tasks=1, jobs=1)


def scored(task="a", attempt=1):
    return Scored(seq=1, t=1.0, task=task, attempt=attempt, score=Score(1.0))


def test_the_last_score_of_the_result_that_counts_counts():
    assert fold(started(), scored()).history("a").scored == -1, "there is no score without its run"
    assert fold(scored("b")).history("b").is_done is False
    assert fold(started(), finished(), scored(), scored()).history("a").scored == 3
    assert fold(started(), finished(attempt=1), scored(attempt=2)).history("a").scored == -1
    stands = fold(started(), finished(), scored(), REOPENED, scored()).history("a")
    assert (stands.status, stands.scored) == (TaskStatus.OK, 4), "until a new attempt has started"
    begun = (started(), finished(), scored(), REOPENED, started(attempt=2))
    assert fold(*begun, scored()).history("a").scored == -1
    assert fold(*begun, finished(attempt=2), scored()).history("a").scored == -1
    assert fold(*begun, finished(attempt=2), scored(attempt=2)).history("a").scored == 6


def test_a_task_without_lines_has_no_history():
    assert fold().history("a").attempts == 0
    assert fold().tasks == {}


def test_started_without_finished_is_interrupted():
    history = fold(OPENED, started(), OPENED, started(attempt=2)).history("a")
    assert (history.is_interrupted, history.running, history.attempts, history.failed) == (True, 2, 2, 0)


def test_a_retry_counts_and_an_interruption_does_not():
    state = fold(
        started(),
        finished(status=TaskStatus.CRASHED, final=False),
        started(attempt=2),
        finished(attempt=2, status=TaskStatus.INTERRUPTED, final=False),
    )
    history = state.history("a")
    assert (history.failed, history.attempts, history.is_done, history.is_interrupted) == (1, 2, False, False)


def test_the_first_final_outcome_counts():
    state = fold(
        started(digest="d"),
        finished(status=TaskStatus.ERROR),
        started(attempt=2),
        finished(attempt=2),
        finished(attempt=2),
    )
    history = state.history("a")
    assert (history.status, history.attempt, history.offset, history.digest) == (TaskStatus.ERROR, 1, 1, "d")
    assert (state.stragglers, history.attempts, state.attempts) == (3, 2, 3)
    assert state.statuses() == {"error": 1}


def test_a_reopened_task_keeps_its_result_until_a_new_attempt_has_started():
    before = [started(), finished(status=TaskStatus.CRASHED, final=False), started(attempt=2), finished(attempt=2)]
    stands = fold(*before, REOPENED).history("a")
    assert (stands.status, stands.attempt, stands.offset, stands.attempts) == (TaskStatus.OK, 2, 3, 2)
    assert fold(*before, REOPENED, OPENED, REOPENED).statuses() == {"ok": 1}, "also over starts that start nothing"
    history = fold(*before, REOPENED, started(attempt=3)).history("a")
    assert (history.is_done, history.attempts, history.failed, history.running) == (False, 3, 0, 3)
    late = fold(
        *before, REOPENED, finished(attempt=2), started(attempt=3), finished(attempt=3, status=TaskStatus.BLOCKED)
    )
    assert (late.history("a").status, late.history("a").attempt, late.stragglers) == (TaskStatus.BLOCKED, 3, 1)


def test_totals_are_of_all_attempts_and_an_unknown_cost_is_not_zero():
    known = fold(finished(usage=Usage(1, 2, 3, 4)), finished("b", usage=Usage(10, 20, 30, 40), final=False))
    assert (known.usage, known.cost_usd, known.attempts) == (Usage(11, 22, 33, 44), 1.0, 2)
    unknown = fold(finished(), finished("b", cost_usd=None), finished(attempt=2))
    assert (unknown.cost_usd, unknown.known_cost_usd, unknown.unknown_costs) == (None, 1.0, 1)


def test_each_task_has_the_node_of_its_last_attempt():
    lines = [started(node="n1"), started("b", node="n2"), started("c"), started("d", node="n1")]
    state = fold(*lines, finished(), started("b", 2, node="n1"), finished("d", final=False))
    assert state.nodes == {"a": "n1", "b": "n1", "d": "n1"}
    assert state.running_by_node() == {"n1": ["b"]}, "others have ended, or run on the machine of the batch"
    state.take(started("b", 3), 9)
    assert (state.nodes, state.running_by_node()) == ({"a": "n1", "d": "n1"}, {})
    assert fold(started(), finished()).nodes == {}
    late = fold(started(node="n1"), finished(), started(attempt=2, node="n2"))
    assert late.nodes == {"a": "n1"}, "an attempt that counts no more says nothing of the one that does"


def test_starts_and_ends_of_the_batch():
    closed = Closed(seq=1, t=1.0, reason="drained")
    state = fold(
        OPENED, Paused(seq=1, t=1.0, task="a", attempt=1, reason="429"), Resumed(seq=1, t=1.0, task="a", attempt=1)
    )
    assert (state.opened, state.closed, state.starts, state.pauses) == (OPENED, None, 1, 1)
    assert fold(OPENED, closed).closed == closed
    assert fold(OPENED, closed, OPENED).closed is None


ids = st.sampled_from("abc")
attempts = st.integers(1, 4)
any_line = st.one_of(
    st.builds(started, ids, attempts),
    st.builds(
        finished, ids, attempts, st.sampled_from(TaskStatus), st.booleans(), cost_usd=st.sampled_from([None, 0.5])
    ),
    st.builds(lambda task: Reopened(seq=1, t=1.0, task=task), ids),
    st.just(OPENED),
)


@given(st.lists(any_line, max_size=40))
def test_any_lines_leave_at_most_one_final_outcome_the_first(lines):
    first: dict[str, int] = {}
    highest: dict[str, int] = {}
    floor: dict[str, int] = {}
    of: dict[str, int] = {}
    """The attempts of `first`."""
    state = BatchState()
    for place, line in enumerate(lines):
        state.take(line, place)
        if isinstance(line, (Started, Finished)):
            highest[line.task] = max(highest.get(line.task, 0), line.attempt)
        if isinstance(line, (Started, Finished)) and line.attempt > floor.get(line.task, 0) >= of.get(line.task, 9):
            del first[line.task], of[line.task]  # the result before the reopening
        if isinstance(line, Finished) and line.final and line.attempt > floor.get(line.task, 0):
            first.setdefault(line.task, place)
            of.setdefault(line.task, line.attempt)
        if isinstance(line, Reopened):
            floor[line.task] = highest.get(line.task, 0)
        assert {task: history.offset for task, history in state.tasks.items() if history.is_done} == first
    ended = [line for line in lines if isinstance(line, Finished)]
    assert {task: history.attempts for task, history in state.tasks.items() if history.attempts} == highest
    assert state.attempts == len(ended)
    assert state.unknown_costs == sum(line.outcome.cost_usd is None for line in ended)
    assert sum(state.statuses().values()) == len(first)
