"""Replies of the scripted server that count the prompt by the rules of the provider's prefix cache."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tests.support.messages_server.prefix_cache import CachedRequest, CacheRuleError, CacheUse, PrefixCache
from tests.support.messages_server.replies import Reply, http_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.messages_server.server import Received


class Counted(NamedTuple):
    request: Received
    use: CacheUse


class CachingAnswers:
    """For `MessagesServer.otherwise`. `reply` gets the request and the counts, as keyword arguments of
    `message_events`; `clock` returns seconds."""

    def __init__(
        self,
        reply: Callable[[Received, dict[str, int]], Reply],
        *,
        cache: PrefixCache | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counted: list[Counted] = []
        """The requests so far, in the order of their arrival."""
        self._reply = reply
        self._cache = PrefixCache() if cache is None else cache
        self._clock = clock
        self._lock = threading.Lock()

    def __call__(self, request: Received) -> Reply:
        with self._lock:
            try:
                begun = self._cache.begin(request.body, self._clock())
            except CacheRuleError as error:
                return http_error(400, str(error))
            self.counted.append(Counted(request, begun.use))
        reply = self._reply(request, begun.use.usage)
        return replace(reply, on_begin=lambda: self._answered(begun)) if reply.status == 200 else reply

    def _answered(self, begun: CachedRequest) -> None:
        with self._lock:
            self._cache.answered(begun, self._clock())
