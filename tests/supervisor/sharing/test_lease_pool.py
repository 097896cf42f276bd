"""The decision which run gets which process of a pool, and how many are started."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from supervisor.sharing.leased_extension import Place, PoolStep, next_step

PLACES = st.lists(st.sampled_from(Place), max_size=12)


@given(st.lists(st.integers(), unique=True, max_size=12), PLACES, st.integers(1, 12))
def test_each_run_gets_a_free_place_a_coming_one_a_start_or_waits(waiting, places, limit):
    step = next_step(waiting, places, limit)
    free = [index for index, place in enumerate(places) if place is Place.FREE]
    assert [run for run, _ in step.given] == waiting[: len(free)]
    assert [place for _, place in step.given] == free[: len(waiting)]
    coming = places.count(Place.COMING)
    alive = len(places) - places.count(Place.DOWN)
    assert step.starts == 0 or alive + step.starts <= limit
    assert list(step.late) == waiting[len(step.given) + coming + step.starts :]
    assert not step.late or alive + step.starts >= limit, "none waits while there is room"


def test_the_lowest_place_goes_first():
    assert next_step([7], [Place.TAKEN, Place.FREE, Place.FREE]) == PoolStep(((7, 1),), 0, ())


class Pool(RuleBasedStateMachine):
    """A pool of at most three processes whose runs, starts and deaths come in any order."""

    LIMIT = 3

    def __init__(self) -> None:
        super().__init__()
        self.places: list[Place] = []
        self.leases: dict[int, int | None] = {}
        """The place of each run, None while it waits."""
        self.runs = 0

    def fill(self) -> None:
        waiting = [run for run, place in self.leases.items() if place is None]
        step = next_step(waiting, self.places, self.LIMIT)
        for run, place in step.given:
            assert self.places[place] is Place.FREE
            self.leases[run], self.places[place] = place, Place.TAKEN
        for _ in range(step.starts):
            if Place.DOWN in self.places:
                self.places[self.places.index(Place.DOWN)] = Place.COMING
            else:
                self.places.append(Place.COMING)

    @rule()
    def join(self) -> None:
        self.runs += 1
        self.leases[self.runs] = None
        self.fill()

    @rule(data=st.data())
    def leave(self, data) -> None:
        if self.leases:
            run = data.draw(st.sampled_from(sorted(self.leases)))
            if (place := self.leases.pop(run)) is not None:
                self.places[place] = Place.FREE
            self.fill()

    @rule(data=st.data(), after=st.sampled_from([Place.FREE, Place.DOWN]))
    def start_ends(self, data, after) -> None:
        if Place.COMING in self.places:
            coming = [index for index, place in enumerate(self.places) if place is Place.COMING]
            self.places[data.draw(st.sampled_from(coming))] = after
            self.fill()

    @rule(data=st.data())
    def idle_one_dies(self, data) -> None:
        if Place.FREE in self.places:
            free = [index for index, place in enumerate(self.places) if place is Place.FREE]
            self.places[data.draw(st.sampled_from(free))] = Place.DOWN
            self.fill()

    @invariant()
    def no_place_serves_two_runs(self) -> None:
        taken = [place for place in self.leases.values() if place is not None]
        assert len(set(taken)) == len(taken)
        assert {index for index, place in enumerate(self.places) if place is Place.TAKEN} == set(taken)

    @invariant()
    def no_more_processes_than_the_limit(self) -> None:
        assert len(self.places) <= self.LIMIT

    @invariant()
    def no_run_waits_beside_a_free_process_or_without_one_to_come(self) -> None:
        waiting = [run for run, place in self.leases.items() if place is None]
        assert not waiting or Place.FREE not in self.places
        assert not waiting or Place.DOWN not in self.places or self.places.count(Place.COMING) >= len(waiting)


TestPool = Pool.TestCase
