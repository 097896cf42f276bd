"""A pool of model workers in a test, and what its runs are told."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import partial

import msgspec

from agent.batch.pool.leases import WorkerSet
from agent.batch.pool.model_pool import ModelPool
from tests.support.obeying_worker import FINAL, START, starter
from tests.support.patience import PATIENCE_S
from wire.batch.link import ModelRequest

CONFIGURE = {"type": "configure", "provider": "anthropic", "api_key": "k", "base_url": "http://127.0.0.1:9"}


def request_of(run, number=1, say=(START, FINAL), then="", configure=CONFIGURE, model="m", **params):
    params = {"say": list(say), "then": then, "max_tokens": 100, **params}
    raw = [msgspec.Raw(json.dumps(value).encode()) for value in (configure, params)]
    return ModelRequest(f"{run}.{number}", raw[0], model, raw[1])


class Batch:
    """A pool and what its runs are told."""

    def __init__(self, loop, jobs=2, start=None, **more):
        self.loop = loop
        self.children = []
        self.lines = defaultdict(list)
        self.told = []
        self.free = []
        self.lost = []
        self.on_line = self._on_line
        self.pool = ModelPool(
            loop,
            partial(WorkerSet, loop, start or starter(loop, self.children)),
            jobs=jobs,
            on_line=lambda run, raw: self.on_line(run, raw),  # noqa: PLW0108  tests replace it
            on_paused=lambda run, reason: self.told.append((run, reason)),
            on_resumed=lambda run: self.told.append((run, "resumed")),
            on_free=self.free.append,
            on_lost=self.lost.append,
            **more,
        )

    def _on_line(self, run, raw):
        self.lines[run].append(json.loads(raw))

    def ask(self, run, *args, **given):
        self.pool.request(run, request_of(run, *args, **given))

    def until(self, predicate):
        assert self.loop.run_until(predicate, self.loop.clock() + PATIENCE_S)

    def last(self, run):
        return self.lines[run][-1]["type"] if self.lines[run] else ""

    def until_final(self, *runs):
        self.until(lambda: all(self.last(run) in ("final", "error") for run in runs))

    def types(self, run):
        return [line["type"] for line in self.lines[run]]
