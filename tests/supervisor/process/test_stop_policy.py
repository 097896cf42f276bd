"""The steps by which a process tree is stopped: every path ends in bounded time and includes the kill."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from supervisor.process.stop_policy import Patience, StopStage, StopStep, next_step

SECONDS = st.floats(0, 5)
PATIENCES = st.builds(
    lambda hint, more, term, kill: Patience(hint, hint + more, term, kill), SECONDS, SECONDS, SECONDS, SECONDS
)
LIVES = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60)
TICK = 0.25


def steps(
    patience: Patience, lives: list[tuple[bool, bool]], first: StopStage = StopStage.ASKED
) -> list[tuple[float, StopStep]]:
    """Carries out the policy on a clock of its own. A leader that has gone stays gone, and the last state lasts. A kill
    is repeated as long as a process lives, and counts once."""
    taken, stage, entered, now, alive = [], first, 0.0, 0.0, True
    for tick in range(400):
        leader, others = lives[tick] if tick < len(lives) else (lives[-1] if lives else (True, True))
        alive = alive and leader
        while True:
            step, following = next_step(
                stage, since=now - entered, leader_lives=alive, others_live=others, patience=patience
            )
            if step is not StopStep.WAIT and not (step is StopStep.KILL and taken and taken[-1][1] is StopStep.KILL):
                taken.append((now, step))
            if following is stage:
                break
            stage, entered = following, now
            if stage in (StopStage.GONE, StopStage.STUCK):
                return taken
        now += TICK
    raise AssertionError(f"does not end: {taken}")


@given(PATIENCES, LIVES)
def test_every_path_ends_within_the_patience(patience: Patience, lives: list[tuple[bool, bool]]):
    *_, (ended, last) = steps(patience, lives)
    assert last in (StopStep.FINISH, StopStep.GIVE_UP)
    assert ended <= patience.ask + patience.term + patience.kill + 5 * TICK


@given(PATIENCES, LIVES)
def test_each_step_is_taken_once_and_in_order(patience: Patience, lives: list[tuple[bool, bool]]):
    taken = [step for _, step in steps(patience, lives)]
    order = [StopStep.CLOSE_STDIN, StopStep.TERMINATE, StopStep.KILL, StopStep.FINISH, StopStep.GIVE_UP]
    assert taken == sorted(taken, key=order.index)
    assert len(set(taken)) == len(taken)
    if StopStep.GIVE_UP in taken:
        assert taken[-3:] == [StopStep.TERMINATE, StopStep.KILL, StopStep.GIVE_UP]


@given(PATIENCES)
def test_a_stubborn_tree_goes_through_all_of_them(patience: Patience):
    taken = steps(patience, [])
    assert [step for _, step in taken] == [StopStep.CLOSE_STDIN, StopStep.TERMINATE, StopStep.KILL, StopStep.GIVE_UP]
    times = {step: at for at, step in taken}
    assert times[StopStep.CLOSE_STDIN] >= patience.hint
    assert times[StopStep.TERMINATE] - times[StopStep.CLOSE_STDIN] >= patience.ask - patience.hint
    assert times[StopStep.KILL] - times[StopStep.TERMINATE] >= patience.term
    assert times[StopStep.GIVE_UP] - times[StopStep.KILL] >= patience.kill


@given(PATIENCES, st.sampled_from([StopStage.ASKED, StopStage.HINTED]))
def test_what_a_dead_leader_left_is_terminated_at_once(patience: Patience, stage: StopStage):
    taken = next_step(stage, since=0.0, leader_lives=False, others_live=True, patience=patience)
    assert taken == (StopStep.TERMINATE, StopStage.TERMINATED)


@given(PATIENCES, st.sampled_from([StopStage.ASKED, StopStage.HINTED, StopStage.TERMINATED, StopStage.KILLED]), SECONDS)
def test_nothing_alive_is_finished_whatever_came_before(patience: Patience, stage: StopStage, since: float):
    taken = next_step(stage, since=since, leader_lives=False, others_live=False, patience=patience)
    assert taken == (StopStep.FINISH, StopStage.GONE)


@given(PATIENCES)
def test_at_once_begins_with_a_kill(patience: Patience):
    step, stage = next_step(
        StopStage.TERMINATED, since=patience.term, leader_lives=True, others_live=True, patience=patience
    )
    assert (step, stage) == (StopStep.KILL, StopStage.KILLED)


def test_all_steps_together_are_the_whole_time():
    patience = Patience(hint=1.0, ask=2.0, term=4.0, kill=8.0)
    assert patience.in_all == sum(
        patience.lasts(stage) for stage in (StopStage.ASKED, StopStage.HINTED, StopStage.TERMINATED, StopStage.KILLED)
    )
