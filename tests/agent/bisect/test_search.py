"""`agent.bisect.search`: the result, the order of names, and the number of trials."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.bisect.search import FlakySearchError, Names, Search, Verdict

MANY = 60


def names(count: int) -> Names:
    return tuple(f"ext{number:02}" for number in range(count))


@st.composite
def planted(draw: st.DrawFn, most: int) -> tuple[Names, frozenset[str]]:
    """Extensions, and those among them that are bad together."""
    everyone = names(draw(st.integers(1, MANY)))
    return everyone, frozenset(draw(st.sets(st.sampled_from(everyone), min_size=1, max_size=most)))


class Trials:
    """Counts the trials, and says that those are bad that have all culprits."""

    def __init__(self, culprits: frozenset[str], *, skips: frozenset[Names] = frozenset()) -> None:
        self.asked: list[Names] = []
        self._culprits = culprits
        self._skips = skips

    def __call__(self, kept: Names) -> Verdict:
        self.asked.append(kept)
        if kept in self._skips:
            return Verdict.UNRESOLVED
        return Verdict.BAD if self._culprits <= set(kept) else Verdict.GOOD


@given(planted(most=4))
def test_the_culprits_are_found_and_no_others(case: tuple[Names, frozenset[str]]):
    everyone, culprits = case
    assert frozenset(Search(everyone, Trials(culprits)).find()) == culprits


@given(planted(most=3))
def test_names_are_asked_about_in_the_order_of_guards_and_at_most_twice(case: tuple[Names, frozenset[str]]):
    everyone, culprits = case
    trials = Trials(culprits)
    found = Search(everyone, trials).find()
    assert max(Counter(trials.asked).values(), default=0) <= 2
    assert len(culprits) > 1 or len(set(trials.asked)) == len(trials.asked)
    assert all(list(kept) == sorted(kept) for kept in (*trials.asked, found))
    assert () not in trials.asked


def test_one_of_fifty_takes_seven_trials_and_a_pair_eighteen_at_most():
    """With those with all and with none, nine and twenty runs."""
    everyone = names(50)
    for one in everyone:
        trials = Trials(frozenset({one}))
        assert Search(everyone, trials).find() == (one,)
        assert len(trials.asked) <= 7
        for other in everyone[:: 1 if one == everyone[0] else 7]:
            if other != one:
                trials = Trials(frozenset({one, other}))
                assert set(Search(everyone, trials).find()) == {one, other}
                assert len(trials.asked) <= 18


@given(planted(most=2), st.data())
def test_whatever_trials_are_unresolved_the_result_was_bad_and_has_the_culprits(
    case: tuple[Names, frozenset[str]], data: st.DataObject
):
    everyone, culprits = case
    share = data.draw(st.integers(0, 3))
    asked: dict[Names, Verdict] = {everyone: Verdict.BAD}

    def test(kept: Names) -> Verdict:
        if kept in asked:
            return asked[kept]
        unresolved = data.draw(st.integers(0, 9)) < share
        verdict = Verdict.UNRESOLVED if unresolved else Verdict.BAD if culprits <= set(kept) else Verdict.GOOD
        asked[kept] = verdict
        return verdict

    found = Search(everyone, test).find()
    assert asked[found] is Verdict.BAD
    assert culprits <= set(found)


@given(planted(most=2), st.data())
def test_an_extension_that_others_need_is_part_of_the_result_only_if_nothing_less_is_bad(
    case: tuple[Names, frozenset[str]], data: st.DataObject
):
    """Trials without it are unresolved."""
    everyone, culprits = case
    needed = data.draw(st.sampled_from(everyone))

    def test(kept: Names) -> Verdict:
        if needed not in kept:
            return Verdict.UNRESOLVED
        return Verdict.BAD if culprits <= set(kept) else Verdict.GOOD

    assert set(Search(everyone, test).find()) == culprits | {needed}


@given(planted(most=2), st.integers(0, 30))
def test_one_trial_with_a_wrong_verdict_changes_no_result(case: tuple[Names, frozenset[str]], wrong: int):
    """Unless it is that of one extension alone, or of the pair, which nothing contradicts. Seldom it is told that the
    check is one of chance; a wrong culprit is never named."""
    everyone, culprits = case
    asked: list[Names] = []

    def test(kept: Names) -> Verdict:
        asked.append(kept)
        is_bad = culprits <= set(kept)
        if len(asked) - 1 == wrong and len(kept) > 2:
            is_bad = not is_bad
        return Verdict.BAD if is_bad else Verdict.GOOD

    try:
        assert set(Search(everyone, test).find()) == culprits
    except FlakySearchError:
        assert len(asked) > wrong, "a verdict was wrong"
    assert len(asked) <= 40


def test_a_check_of_chance_ends_and_is_told():
    everyone, chance, ends = names(50), Random(1), []
    for _ in range(200):
        asked: list[Names] = []

        def test(kept: Names, asked: list[Names] = asked) -> Verdict:
            asked.append(kept)
            return Verdict.BAD if chance.random() < 0.2 else Verdict.GOOD

        try:
            Search(everyone, test).find()
            ends.append(True)
        except FlakySearchError:
            ends.append(False)
        assert len(asked) < 100
    assert {True, False} == set(ends)


def test_if_all_together_are_good_when_they_are_tried_again_nothing_is_found():
    with pytest.raises(FlakySearchError):
        Search(names(9), lambda _: Verdict.GOOD).find()


@given(st.integers(1, 12).map(names), st.data())
def test_for_any_constant_verdicts_the_search_ends_with_a_bad_set_whose_members_cannot_be_left_out_one_by_one(
    everyone: Names, data: st.DataObject
):
    asked: dict[Names, Verdict] = {everyone: Verdict.BAD, (): Verdict.GOOD}

    def test(kept: Names) -> Verdict:
        if kept not in asked:
            asked[kept] = data.draw(st.sampled_from(Verdict))
        return asked[kept]

    found = Search(everyone, test).find()
    assert found
    assert asked[found] is Verdict.BAD
    assert len(asked) <= 2 + len(everyone) ** 2 + 20 * len(everyone)
    for name in found if len(found) > 1 else ():
        assert asked[tuple(each for each in found if each != name)] is not Verdict.BAD
