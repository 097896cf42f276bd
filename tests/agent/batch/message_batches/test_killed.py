"""A batch process that is killed at any point: the next start sends nothing twice, and has one result for each task."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter, deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.journal.reader import read_journal
from tests.agent.batch.test_killed_batch import bearing, until
from tests.support import batch_api_program
from tests.support.messages_server.message_batches import succeeded
from tests.support.messages_server.replies import Hold, Reply, Send
from wire.batch.journal_lines import BatchCreated, BatchPlanned, Finished, decode_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.batch_place import BatchPlace
    from tests.support.messages_server.message_batches import MessageBatches
    from tests.support.messages_server.server import MessagesServer

PROGRAM = batch_api_program.__file__
ROOT = Path(__file__).resolve().parents[4]
COUNT = 6
HALF_USD = (10 * 3 + 5 * 15) / 1e6 / 2


class Killed:
    """A batch that is killed when the condition holds, and goes on in this process."""

    def __init__(self, place: BatchPlace, server: MessagesServer, worker: Path) -> None:
        self.place, self.server, self.worker = place, server, worker
        self.api: MessageBatches = server.batches  # type: ignore[assignment]

    def lines(self, kind: type[Any]) -> list[Any]:
        path = self.place.rundir / "journal.jsonl"
        whole = path.read_bytes().rpartition(b"\n")[0] if path.exists() else b""
        return [line for text in whole.splitlines() if isinstance(line := decode_line(text), kind)]

    def kill_when(self, condition: Callable[[], bool]) -> None:
        command = [sys.executable, PROGRAM, str(self.place.folder), self.server.base_url, str(self.worker), str(COUNT)]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=env, start_new_session=True) as batch:
            assert batch.stdout is not None
            token = batch.stdout.readline().decode().strip()
            assert until(condition)
            batch.send_signal(signal.SIGKILL)
        assert until(lambda: not bearing(token))
        self.server.release()

    def go_on(self) -> None:
        api, place = self.api, self.place
        api.held.clear()
        api.looks = 1
        request = batch_api_program.flags(place.folder, self.server.base_url)
        end = place.run(
            batch_api_program.say_tasks(COUNT), batch_api=True, run_program=None, has_template=False,
            run={name: getattr(request, name) for name in ("base_url", "api_key", "provider", "model", "max_steps",
                                                           "tools", "cwd")},
        )  # fmt: skip
        assert (end.reason, end.statuses) == ("done", {"ok": COUNT}), place.said
        assert api.prompts == Counter({f"say {number}": 1 for number in range(COUNT)})
        finals = Counter(line.task for line in self.lines(Finished) if line.final)
        assert finals == Counter({f"t{number}": 1 for number in range(COUNT)})
        assert end.cost_usd == pytest.approx(COUNT * HALF_USD, abs=1e-5)
        results = [json.loads(line) for line in (place.rundir / "results.jsonl").read_bytes().splitlines()]
        assert [(one["id"], one["text"]) for one in results] == [
            (f"t{number}", f"answer to say {number}") for number in range(COUNT)
        ]
        assert not list((place.rundir / "batches").iterdir())
        assert not read_journal(place.rundir / "journal.jsonl").state.sent.open


@pytest.fixture
def killed(place: BatchPlace, server: MessagesServer, warm_worker: Path) -> Killed:
    return Killed(place, server, warm_worker)


@pytest.mark.slow
def test_after_the_plan_before_the_provider_has_done_anything(killed: Killed) -> None:
    killed.api.faults["create"] = deque([Reply((Hold(),))])
    killed.kill_when(lambda: killed.api.calls["create"] > 0)
    assert len(killed.lines(BatchPlanned)) == 1
    killed.go_on()
    assert killed.api.calls["create"] == 2


def test_between_the_creation_and_its_note(killed: Killed) -> None:
    killed.api.held.add("create")
    killed.kill_when(lambda: len(killed.api.stored) > 0)
    assert killed.lines(BatchCreated) == []
    killed.go_on()
    assert killed.api.calls["create"] == 1


@pytest.mark.slow
def test_while_the_message_batch_is_awaited(killed: Killed) -> None:
    killed.api.looks = 1e9
    killed.kill_when(lambda: killed.api.calls["retrieve"] > 1)
    killed.go_on()


@pytest.mark.slow
def test_before_the_first_result(killed: Killed) -> None:
    killed.api.held.add("results")
    killed.kill_when(lambda: killed.api.calls["results"] > 0)
    killed.go_on()


@pytest.mark.slow
def test_in_the_middle_of_the_results(killed: Killed) -> None:
    def half() -> bool:
        return len(killed.lines(Finished)) >= COUNT // 2

    def results_of(nonce: str) -> list[bytes]:
        said = [(f"zot-{nonce}-{number}", succeeded(f"answer to say {number}")) for number in range(COUNT // 2)]
        return [json.dumps({"custom_id": name, "result": result}).encode() + b"\n" for name, result in said]

    class Faults(deque[Reply]):
        """Its reply is made once the nonce is known."""

        def popleft(self) -> Reply:
            super().popleft()
            nonce = killed.api.stored[0].requests[0]["custom_id"].split("-")[1]
            return Reply((Send(b"".join(results_of(nonce))), Hold()), content_type="application/x-jsonl")

    killed.api.faults["results"] = Faults([Reply(())])
    killed.kill_when(half)
    assert len(killed.lines(Finished)) == COUNT // 2
    killed.go_on()


@pytest.mark.slow
def test_a_storm_of_kills(killed: Killed) -> None:
    api = killed.api
    api.looks = 30
    for number in range(8):
        api.lost["create"] = number % 2
        calls = api.calls.total()
        killed.kill_when(lambda calls=calls, number=number: api.calls.total() >= calls + 1 + number % 4)  # type: ignore[misc]
        if not killed.lines(BatchPlanned) or read_journal(killed.place.rundir / "journal.jsonl").state.sent.open:
            continue
        break
    api.lost["create"] = 0
    killed.go_on()
