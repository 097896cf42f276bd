"""Only a run whose requests were under way at two deaths is convicted; one at a time, that is the guilty one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from supervisor.sharing.suspects import DEATHS, Suspects

RUNS = st.frozensets(st.integers(0, 9), min_size=1)


@given(RUNS, st.data())
def test_an_innocent_run_is_not_convicted_while_questions_go_one_at_a_time(
    runs: frozenset[int], data: st.DataObject
) -> None:
    killers = data.draw(st.frozensets(st.sampled_from(sorted(runs)), min_size=1))
    order = data.draw(st.permutations(sorted(runs)))
    suspects = Suspects()
    assert suspects.died_with(runs) == []
    convicted: list[int] = []
    waiting = list(order)
    while waiting:
        assert suspects.is_any
        run = waiting.pop(0)
        if run in killers:
            convicted += suspects.died_with([run])
        else:
            suspects.cleared(run)
        suspects.keep_only(waiting.__contains__)
    assert set(convicted) == killers
    assert len(convicted) == len(set(convicted)), "each once"
    assert not suspects.is_any


@given(st.lists(RUNS, max_size=8))
def test_the_number_of_deaths_convicts(deaths: list[frozenset[int]]) -> None:
    suspects = Suspects()
    seen: dict[int, int] = {}
    for runs in deaths:
        for run in runs:
            seen[run] = seen.get(run, 0) + 1
        convicted = suspects.died_with(runs)
        assert convicted == sorted(run for run in runs if seen[run] >= DEATHS)
        for run in convicted:
            suspects.forget(run)
            seen.pop(run)


def test_a_suspect_without_a_request_holds_nobody_up() -> None:
    suspects = Suspects()
    suspects.died_with([1, 2])
    suspects.keep_only(lambda run: run == 2)
    assert suspects.is_any
    suspects.keep_only(lambda _run: False)
    assert not suspects.is_any


def test_a_run_that_has_gone_is_forgotten() -> None:
    suspects = Suspects()
    suspects.died_with([1])
    suspects.forget(1)
    assert not suspects.is_any
    assert suspects.died_with([1]) == []
