"""Results of message batches, good and bad, and what becomes of their tasks."""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.message_batches.write_up import CANCELED, EXPIRED, MISSING
from tests.support.batch_api_starts import IN_USD, OUT_USD, prompts, run, stopped_when
from tests.support.batch_place import when
from tests.support.messages_server.message_batches import ARCHIVED_S, errored, prompt_of, succeeded
from tests.support.messages_server.replies import Drop, Reply, http_error

if TYPE_CHECKING:
    from tests.support.batch_place import BatchPlace
    from tests.support.messages_server.message_batches import MessageBatches
    from tests.support.messages_server.server import MessagesServer


def test_each_kind_of_result_has_its_outcome(place: BatchPlace, server: MessagesServer, api: MessageBatches) -> None:
    results = {
        "say 0": succeeded("cut", stop_reason="max_tokens"),
        "say 1": errored("invalid_request_error", "max_tokens: too many"),
        "say 2": errored("overloaded_error"),
        "say 3": {"type": "expired"},
        "say 4": None,
        "say 5": succeeded("no", stop_reason="refusal"),
        "say 6": {"type": "succeeded", "message": {"content": [{"type": "text", "text": 3}]}},
        "say 7": {"type": "new"},
    }
    api.answer = lambda params: results[prompt_of(params)]
    end = run(place, server, prompts(8), retries=0)
    found = {task: (one.status.value, one.reason) for task, (one,) in place.ends().items()}
    assert found["t0"] == ("error", "the reply was cut off: max_tokens")
    assert found["t1"][0] == "error"
    assert "invalid_request_error: max_tokens: too many" in found["t1"][1]
    assert found["t2"][0] == "rate_limit"
    assert found["t3"] == ("error", EXPIRED)
    assert found["t4"] == ("error", MISSING)
    assert found["t5"] == ("error", "the model stopped for an unusual reason: refusal")
    assert "not valid" in found["t6"][1]
    assert "unknown type 'new'" in found["t7"][1]
    assert end.cost_usd is None, "the request without a result may have cost something"
    assert place.ends()["t4"][0].reserved_usd > 0
    assert place.ends()["t3"][0].cost_usd == 0


def test_what_may_pass_goes_into_another_message_batch(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    seen: Counter[str] = Counter()

    def answer(params: dict[str, Any]) -> dict[str, Any] | None:
        prompt = prompt_of(params)
        seen[prompt] += 1
        return {"type": "expired"} if seen[prompt] == 1 and prompt != "say 0" else succeeded("well")

    api.answer = answer
    end = run(place, server, prompts(3))
    assert end.statuses == {"ok": 3}
    assert [len(batch.requests) for batch in api.stored] == [3, 2]
    assert {task: len(found) for task, found in place.ends(final=False).items()} == {"t0": 1, "t1": 2, "t2": 2}


def test_a_message_batch_that_somebody_cancels_leaves_its_tasks_to_the_next_start(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    api.looks = 1e9

    def cancel(batch: Any) -> None:
        when(batch, lambda: api.calls["retrieve"] >= 1, lambda: setattr(api.stored[0], "is_canceled", True))

    end = run(place, server, prompts(2), do=cancel)
    assert (end.reason, end.statuses) == ("stopped", {"not_run": 2})
    assert place.ends(final=False)["t0"][0].reason == CANCELED
    api.looks = 1
    assert run(place, server, prompts(2)).statuses == {"ok": 2}
    assert set(api.prompts.values()) == {2}


def test_results_that_break_off_are_fetched_again_and_count_once(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    api.cut_results_after = 5
    api.faults["retrieve"] = deque([http_error(503), http_error(429), Reply((Drop(),))])
    end = run(place, server, prompts(8))
    assert end.statuses == {"ok": 8}
    assert api.calls["results"] == 2
    assert any("message batch msgbatch_0001: " in line and "tried again" in line for line in place.said)
    assert all(len(found) == 1 for found in place.ends(final=False).values())
    assert end.cost_usd == pytest.approx(8 * (IN_USD + OUT_USD) / 2, abs=1e-5)


def test_results_that_the_provider_has_deleted_are_told(
    place: BatchPlace, server: MessagesServer, api: MessageBatches
) -> None:
    api.looks = 1e9
    stopped_when(place, server, prompts(2), lambda: api.calls["retrieve"] >= 1)
    api.carry_out(api.stored[0])
    api.clock = lambda: time.time() + ARCHIVED_S
    end = run(place, server, prompts(2))
    assert end.statuses == {"error": 2}
    assert "msgbatch_0001 are out of reach: the provider deletes them after 29 days" in place.ends()["t0"][0].reason
    assert end.cost_usd is None
