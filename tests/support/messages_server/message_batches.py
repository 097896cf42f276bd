"""The Message Batches API of the scripted server, in the shape of its public documentation.

`POST /v1/messages/batches` creates, `GET` lists (newest first, pages by `after_id`), `GET …/ID` retrieves, `GET
…/ID/results` has JSON Lines, `POST …/ID/cancel` cancels. A message batch is carried out at the `looks`-th look at it;
what is not carried out within `limit_s` expires.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter, deque
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from tests.support.messages_server.replies import Drop, Hold, Reply, Send, http_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.messages_server.server import Received

PATH = "/v1/messages/batches"
CUSTOM_ID = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
REQUESTS = 100_000
DAY_S = 24 * 3600.0
ARCHIVED_S = 29 * DAY_S


def succeeded(text: str, *, stop_reason: str = "end_turn", usage: dict[str, int] | None = None) -> dict[str, Any]:
    """The result of a request that was answered."""
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None,
        "content": [{"type": "text", "text": text}], "stop_reason": stop_reason,
        "usage": usage or {"input_tokens": 10, "output_tokens": 5},
    }  # fmt: skip
    return {"type": "succeeded", "message": message}


def errored(kind: str, message: str = "as the script says") -> dict[str, Any]:
    error = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return {"type": "errored", "error": error}


def prompt_of(params: dict[str, Any]) -> str:
    """The text of its only message."""
    return "".join(block.get("text", "") for block in params["messages"][0]["content"])


class Stored(msgspec.Struct):
    id: str
    created: float
    requests: list[dict[str, Any]]
    looks: int = 0
    results: list[dict[str, Any]] | None = None
    is_canceled: bool = False
    ended: float = 0.0


class MessageBatches:
    def __init__(self, base_url: Callable[[], str]) -> None:
        self.answer: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda params: succeeded(
            f"answer to {prompt_of(params)[:20]}"
        )
        """The result for the parameters of a request; None: the file of results leaves it out."""
        self.clock: Callable[[], float] = time.time
        self.limit_s = DAY_S
        self.looks: float = 1
        """The look at which a message batch is carried out."""
        self.faults: dict[str, deque[Reply]] = {}
        """Replies in place of those to the next calls create, list, retrieve, results and cancel."""
        self.lost: Counter[str] = Counter()
        """How many of the next calls are carried out and get no answer."""
        self.held: set[str] = set()
        """The calls that are carried out, and whose answers wait for `release` of the server."""
        self.cut_results_after: int | None = None
        """The number of lines after which the next file of results breaks off."""
        self.stored: list[Stored] = []
        self.calls: Counter[str] = Counter()
        self._base_url = base_url
        self._lock = threading.Lock()

    @property
    def prompts(self) -> Counter[str]:
        """How often each prompt was taken."""
        return Counter(prompt_of(one["params"]) for batch in self.stored for one in batch.requests)

    def reply(self, request: Received) -> Reply:
        url = urlsplit(request.path)
        name, _, action = url.path.removeprefix(PATH).strip("/").partition("/")
        if request.method == "POST":
            call = "cancel" if action == "cancel" else "create"
        else:
            call = "list" if not name else "results" if action == "results" else "retrieve"
        with self._lock:
            self.calls[call] += 1
            if faults := self.faults.get(call):
                return faults.popleft()
            reply = self._carry_out(call, name, request.body, parse_qs(url.query))
            if self.lost[call] > 0:
                self.lost[call] -= 1
                return Reply((Drop(),))
            return Reply((Hold(), *reply.steps), reply.status) if call in self.held else reply

    def _carry_out(self, call: str, name: str, body: Any, query: dict[str, list[str]]) -> Reply:
        if call == "create":
            return self._create(body)
        if call == "list":
            return self._list(query)
        batch = next((batch for batch in self.stored if batch.id == name), None)
        if batch is None:
            return http_error(404, f"no message batch {name}")
        if call == "cancel":
            if batch.results is None:
                batch.is_canceled = True
            return _json(self._shown(batch))
        if call == "results":
            return self._results(batch)
        batch.looks += 1
        if batch.results is None and (batch.looks >= self.looks or self._is_expired(batch) or batch.is_canceled):
            self.carry_out(batch)
        return _json(self._shown(batch))

    def _create(self, body: Any) -> Reply:
        requests = body.get("requests") if isinstance(body, dict) else None
        if not isinstance(requests, list) or not 1 <= len(requests) <= REQUESTS:
            return http_error(400, f"requests: 1 to {REQUESTS}")
        ids = [one["custom_id"] for one in requests]
        if len(set(ids)) < len(ids) or not all(map(CUSTOM_ID.match, ids)):
            return http_error(400, "custom_id: not unique, or not of the pattern")
        batch = Stored(f"msgbatch_{len(self.stored) + 1:04d}", self.clock(), requests)
        self.stored.append(batch)
        return _json(self._shown(batch))

    def add_foreign(self, count: int) -> Stored:
        """A message batch of somebody else."""
        params = {"messages": [{"content": [{"text": "foreign"}]}]}
        requests = [{"custom_id": f"theirs-{number}", "params": params} for number in range(count)]
        batch = Stored(f"msgbatch_f{len(self.stored) + 1:03d}", self.clock(), requests)
        self.stored.append(batch)
        return batch

    def _is_expired(self, batch: Stored) -> bool:
        return self.clock() >= batch.created + self.limit_s

    def carry_out(self, batch: Stored) -> None:
        """Ends it now."""
        batch.ended = self.clock()
        if batch.is_canceled or self._is_expired(batch):
            said: dict[str, Any] = {"type": "canceled" if batch.is_canceled else "expired"}
            found = [(one["custom_id"], said) for one in batch.requests]
        else:
            answers = [(one["custom_id"], self.answer(one["params"])) for one in batch.requests]
            found = [(name, answer) for name, answer in answers if answer is not None]
        batch.results = [{"custom_id": name, "result": result} for name, result in reversed(found)]

    def _is_archived(self, batch: Stored) -> bool:
        return self.clock() >= batch.created + ARCHIVED_S

    def _results(self, batch: Stored) -> Reply:
        if batch.results is None or self._is_archived(batch):
            return http_error(404, "no results")
        lines = [json.dumps(result).encode() + b"\n" for result in batch.results]
        kind = "application/x-jsonl"
        if self.cut_results_after is not None:
            cut, self.cut_results_after = self.cut_results_after, None
            return Reply((Send(b"".join(lines[:cut]) + lines[cut][:9]), Drop(reset=True)), content_type=kind)
        return Reply((Send(b"".join(lines)),), content_type=kind)

    def _list(self, query: dict[str, list[str]]) -> Reply:
        newest = self.stored[::-1]
        limit = int(query.get("limit", ["20"])[0])
        after = query.get("after_id", [""])[0]
        start = next((at + 1 for at, batch in enumerate(newest) if batch.id == after), 0)
        page = newest[start : start + limit]
        ids = [batch.id for batch in page] or [None]
        return _json(
            {
                "data": [self._shown(batch) for batch in page],
                "has_more": len(newest) > start + limit,
                "first_id": ids[0],
                "last_id": ids[-1],
            }
        )

    def _shown(self, batch: Stored) -> dict[str, Any]:
        ended = batch.results is not None
        counts = Counter(one["result"]["type"] for one in batch.results or ())
        missing = len(batch.requests) - sum(counts.values())
        names = ("succeeded", "errored", "canceled", "expired")
        status = "ended" if ended else "canceling" if batch.is_canceled else "in_progress"
        is_archived = self._is_archived(batch)
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": status,
            "request_counts": {"processing": 0 if ended else missing, **{name: counts[name] for name in names}}
            | ({"errored": counts["errored"] + missing} if ended else {}),
            "created_at": _time(batch.created),
            "expires_at": _time(batch.created + self.limit_s),
            "ended_at": _time(batch.ended) if ended else None,
            "archived_at": _time(batch.created + ARCHIVED_S) if is_archived else None,
            "cancel_initiated_at": None,
            "results_url": f"{self._base_url()}{PATH}/{batch.id}/results" if ended and not is_archived else None,
        }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _json(value: Any) -> Reply:
    return Reply((Send(json.dumps(value).encode()),), content_type="application/json")
