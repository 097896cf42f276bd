"""When a message batch is created, looked for, awaited and fetched: never twice, whatever the provider answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.batch.message_batches import lifecycle
from agent.batch.message_batches.chunk import custom_id
from agent.batch.message_batches.lifecycle import (
    POLL_VARIABLE,
    SKEW_S,
    Call,
    Failure,
    Info,
    MessageBatch,
    Pace,
    Phase,
    next_call,
    pace_from,
)

if TYPE_CHECKING:
    from collections.abc import Callable

PACE = Pace()
NONCE = "ab12"
PLANNED = 1_000_000.0
REFUSALS = [
    Failure("invalid_request", "m", 400), Failure("authentication", "m", 401), Failure("rate_limit", "m", 429),
    Failure("overloaded", "m", 529), Failure("connection", "m"),
]  # fmt: skip
"""After these nothing was created."""
DOUBTS = [
    Failure("server", "m", 500), Failure("timeout", "m", is_unanswered=True), Failure("worker", "m"),
    Failure("server", "m", 504, is_unanswered=True), Failure("protocol", "m"),
    Failure("connection", "m", is_unanswered=True),
]  # fmt: skip


def planned(count: int = 3) -> MessageBatch:
    return MessageBatch(nonce=NONCE, count=count, planned=PLANNED)


def info(name: str = "msgbatch_1", status: str = "in_progress", **given: object) -> Info:
    fields = {"created": PLANNED + 1, "expires": PLANNED + 86_400, "count": 3, **given}
    return Info(name, status, **fields)  # type: ignore[arg-type]


class Provider:
    """Carries out calls as the real one may: creations are lost on their way, on the way back, or refused."""

    def __init__(self, draw: Callable[[st.SearchStrategy[object]], object]) -> None:
        self._draw = draw
        self.now = 0.0
        self.batches: list[tuple[Info, str]] = [(info("theirs", "ended"), "their-id")]
        self.created = 0

    def choose(self, *options: str) -> str:
        return str(self._draw(st.sampled_from(options)))

    def carry_out(self, batch: MessageBatch) -> MessageBatch:
        call = next_call(batch)
        self.now = max(self.now, batch.due)
        asked = self.now
        self.now += 0.5
        if call is Call.CREATE:
            return self._create(batch)
        if self.choose("well", "well", "failed") == "failed":
            return lifecycle.failed(batch, Failure("server", "m", 503), self.now, PACE)
        if call is Call.LIST:
            found = [one for one, _ in self.batches]
            return lifecycle.listed(batch, found, (), asked, self.now, PACE)
        if call is Call.RESULTS:
            return lifecycle.fetched(batch)
        name = batch.candidates[0] if call is Call.LOOK else batch.id
        known, first_id = next((one, first) for one, first in self.batches if one.id == name)
        if known.status == "in_progress" and self.choose("ended", "not yet") == "ended":
            ended = info(name, "ended")
            self.batches = [(ended if one.id == name else one, first) for one, first in self.batches]
            known = ended
        if call is Call.LOOK:
            return lifecycle.looked(batch, known, first_id if known.status == "ended" else None, self.now, PACE)
        return lifecycle.retrieved(batch, known, self.now, PACE)

    def _create(self, batch: MessageBatch) -> MessageBatch:
        how = self.choose("well", "lost on the way", "answer lost", "refused for now", "killed before", "killed after")
        made = info(f"ours_{self.created}")
        if how in ("well", "answer lost", "killed after"):
            self.created += 1
            self.batches.insert(0, (made, custom_id(NONCE, 2)))
        if how == "well":
            return lifecycle.created(batch, made, self.now, PACE)
        if how in ("lost on the way", "answer lost"):
            failure = self._draw(st.sampled_from(DOUBTS))
            assert isinstance(failure, Failure)
            return lifecycle.creation_failed(batch, failure, self.now, PACE)
        if how == "refused for now":
            return lifecycle.creation_failed(batch, Failure("rate_limit", "m", 429), self.now, PACE)
        return lifecycle.begin_again(planned(), self.now)


@given(st.data())
def test_it_is_created_once_and_fetched_or_given_up(data: st.DataObject) -> None:
    provider = Provider(data.draw)
    batch = planned()
    for _ in range(400):
        if batch.is_over:
            break
        batch = provider.carry_out(batch)
    assert batch.is_over or provider.now > 0
    assert provider.created <= 1
    if batch.phase is Phase.FETCHED:
        assert (provider.created, batch.id) == (1, "ours_0")


@pytest.mark.parametrize("failure", REFUSALS)
def test_a_refusal_creates_nothing(failure: Failure) -> None:
    assert not lifecycle.may_have_created(failure)
    assert lifecycle.creation_failed(planned(), failure, 5.0, PACE).phase in (Phase.PLANNED, Phase.REFUSED)


@pytest.mark.parametrize("failure", DOUBTS)
def test_any_other_failure_leaves_a_doubt(failure: Failure) -> None:
    batch = lifecycle.creation_failed(planned(), failure, 5.0, PACE)
    assert (batch.phase, next_call(batch)) == (Phase.DOUBTFUL, Call.LIST)


def doubtful() -> MessageBatch:
    return lifecycle.begin_again(planned(), 5.0)


def test_a_list_counts_only_after_it_has_settled() -> None:
    early = lifecycle.listed(doubtful(), [], (), 6.0, 7.0, PACE)
    assert (early.phase, early.due) == (Phase.DOUBTFUL, 8.0)
    late = lifecycle.listed(doubtful(), [], (), 5.0 + PACE.settle_s, 70.0, PACE)
    assert (late.phase, late.due) == (Phase.PLANNED, 70.0)


@pytest.mark.parametrize(
    ("other", "may_be"),
    [
        (info(), True),
        (info(created=PLANNED - SKEW_S), True),
        (info(created=PLANNED - SKEW_S - 1), False),
        (info(count=4), False),
        (info("known"), False),
    ],
)
def test_only_some_may_be_ours(other: Info, may_be: bool) -> None:
    batch = lifecycle.listed(doubtful(), [other], {"known"}, 6.0, 7.0, PACE)
    assert batch.candidates == ((other.id,) if may_be else ())


def test_one_that_may_be_ours_is_awaited_and_known_by_a_result() -> None:
    batch = lifecycle.listed(doubtful(), [info("x"), info("y")], (), 6.0, 7.0, PACE)
    batch = lifecycle.looked(batch, info("x"), None, 8.0, PACE)
    assert (batch.candidates, batch.due) == (("y", "x"), 8.0), "the other one is looked at first"
    batch = lifecycle.looked(batch, info("y", "ended"), "theirs-0", 9.0, PACE)
    assert (batch.candidates, batch.rejected) == (("x",), {"y"})
    batch = lifecycle.looked(batch, info("x"), None, 10.0, PACE)
    assert batch.due > 10.0
    batch = lifecycle.looked(batch, info("x", "ended"), None, 11.0, PACE)
    assert batch.candidates == ("x",), "a result that cannot be read rejects nothing"
    batch = lifecycle.looked(batch, info("x", "ended"), custom_id(NONCE, 0), 12.0, PACE)
    assert (batch.phase, batch.id) == (Phase.ENDED, "x")


def test_one_whose_results_are_deleted_may_have_been_ours() -> None:
    batch = lifecycle.listed(doubtful(), [info("x", "ended", is_archived=True)], (), 600.0, 601.0, PACE)
    assert batch.phase is Phase.LOST


def test_looks_become_rarer() -> None:
    batch, waits = lifecycle.created(planned(), info(), 0.0, PACE), []
    for _ in range(10):
        waits.append(batch.due)
        batch = lifecycle.retrieved(batch, info(), 0.0, PACE)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]


def test_the_provider_may_ask_for_a_longer_wait() -> None:
    batch = lifecycle.created(planned(), info(), 0.0, PACE)
    assert lifecycle.failed(batch, Failure("rate_limit", "m", 429, 30.0), 100.0, PACE).due == 130.0
    assert lifecycle.failed(batch, Failure("rate_limit", "m", 429, 3_000.0), 100.0, PACE).due == 160.0


def test_one_that_is_deleted_at_the_provider_is_lost() -> None:
    batch = lifecycle.created(planned(), info(), 0.0, PACE)
    assert lifecycle.failed(batch, Failure("invalid_request", "m", 404), 1.0, PACE).phase is Phase.LOST


def test_a_server_that_never_creates_it_is_given_up() -> None:
    batch, now, calls = planned(), 0.0, 0
    while not batch.is_over:
        now, calls = max(now, batch.due), calls + 1
        if next_call(batch) is Call.CREATE:
            batch = lifecycle.creation_failed(batch, Failure("connection", "m"), now, PACE)
    assert (batch.phase, calls) == (Phase.REFUSED, lifecycle.CREATIONS)


@pytest.mark.parametrize(
    ("given", "longest"), [("", 60.0), ("5", 5.0), ("0.05", 0.05), ("x", 60.0), ("0", 60.0), ("nan", 60.0)]
)
def test_the_variable_sets_the_longest_wait(given: str, longest: float) -> None:
    pace = pace_from({POLL_VARIABLE: given})
    assert (pace.longest_s, pace.first_s) == (longest, min(1.0, longest))
