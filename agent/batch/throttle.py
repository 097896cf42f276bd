"""Decides when the next request of an account may be sent. Pure.

Before each request: `may_send`, then `sent`. Then either `answered` when the reply begins and `finished` at its end, or
`refused` for a rate limit, or `finished` alone for all other ends. The estimate of a request is reserved until the
headers of an answer have counted it: input until the reply begins, output until it ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from wire.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent.cassette.reply_lines import Limits, RateLimit

TOKENS_PER_BYTE = 0.3
"""Input tokens by the size of a request, before answers tell."""
OUTPUT_TOKENS = 500.0
"""Tokens of a reply, until replies have come."""
LEARNED = 0.2
"""The weight of the last answer in what is learned from answers."""
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
"""After a refusal without Retry-After; doubled with each refusal until an answer comes."""
ROUNDING = 1e-6
"""Tolerance in requests or tokens: sums of floats are not exact."""
SHORTEST_WAIT_S = 0.01
FIRST = 8
"""Open requests before the first answer."""
CUT = 0.8
"""Factor of the limit after a refusal."""
CUT_AGAIN_S = 15.0
"""Seconds in which further refusals are of the same cause: their requests were sent before the first one came."""
USED = 0.8
"""Minimum part of the limit in use for it to grow: below, an answer does not show that the server takes more."""
WINDOW_S = 60.0
"""Seconds in which a bucket is refilled, where the headers do not tell."""
TELLING_RESET_S = 5.0
"""Seconds. Of a shorter time until `reset` the rate cannot be told: headers have whole seconds."""
LIMITS = ("requests", "tokens", "input_tokens", "output_tokens")
IN_WORDS = {
    "requests": "requests",
    "tokens": "tokens",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
}


class Estimate(NamedTuple):
    """The expected use of the limits by one request."""

    input_tokens: float
    output_tokens: float

    def of(self, limit: str) -> float:
        if limit == "requests":
            return 1.0
        if limit == "tokens":
            return self.input_tokens + self.output_tokens
        return self.input_tokens if limit == "input_tokens" else self.output_tokens


class RateWait(NamedTuple):
    """No request now."""

    until: float
    """`math.inf`: until another request is answered or ends. Ask again then in any case."""
    reason: str
    """In words, without the time."""


@dataclass
class _Open:
    number: int
    """In the order in which requests were sent."""
    size: int
    estimate: Estimate
    has_begun: bool = False


class Throttle:
    """One for each account; `most` bounds the requests that are open at the same time."""

    def __init__(self, most: int) -> None:
        self._aimd = Aimd(most)
        self._buckets = {name: Bucket() for name in LIMITS}
        self._open: dict[str, _Open] = {}
        self._beginning = 0
        """Open requests whose replies have not begun."""
        self._reserved = dict.fromkeys(LIMITS, 0.0)
        """The estimates of open requests, without the parts that the headers have counted."""
        self._tokens_per_byte = TOKENS_PER_BYTE
        self._output_tokens = OUTPUT_TOKENS
        self._paused_until = -math.inf
        self._why_paused = ""
        self._told_by = -1
        """The latest request whose answer has told what is left."""
        self._refusals = 0
        """Since the last answer."""
        self._at_once: float = math.inf
        """After a pause: how many requests may wait for the beginning of their replies."""
        self.requests = 0
        self.rate_limited = 0

    @property
    def open_requests(self) -> int:
        return len(self._open)

    def set_most(self, most: int) -> None:
        """From now on at most `most` requests are open at the same time."""
        self._aimd.set_most(most)

    def estimate(self, size: int) -> Estimate:
        """The estimate for a request of `size` bytes."""
        return Estimate(size * self._tokens_per_byte, self._output_tokens)

    def is_too_large(self, estimate: Estimate) -> bool:
        """Whether a limit is less than this request takes alone."""
        return any(0 < self._buckets[name].limit < estimate.of(name) for name in LIMITS)

    def may_send(self, now: float, estimate: Estimate) -> RateWait | None:
        """None if a request may be sent now."""
        if now < self._paused_until:
            return RateWait(self._paused_until, self._why_paused)
        if len(self._open) >= self._aimd.limit:
            return RateWait(math.inf, f"the server takes {counted(self._aimd.limit, 'request')} at the same time")
        if self._beginning >= self._at_once:
            return RateWait(math.inf, "one request tries whether the server takes requests again")
        waits = [wait for name in LIMITS if (wait := self._wait_for(name, now, estimate)) is not None]
        return max(waits, key=lambda wait: wait.until, default=None)

    def _wait_for(self, name: str, now: float, estimate: Estimate) -> RateWait | None:
        bucket = self._buckets[name]
        if not bucket.limit:
            return None
        needed = min(estimate.of(name), bucket.limit)
        reserved = self._reserved[name]
        if bucket.level(now) - reserved >= needed - ROUNDING:
            return None
        per = " per minute" if bucket.is_per_minute else ""
        reason = f"{bucket.limit:,} {IN_WORDS[name]}{per} are used up"
        until = bucket.ready_at(now, needed + reserved)
        if until <= now:
            until = math.inf if reserved else now + SHORTEST_WAIT_S
        return RateWait(until, reason)

    def sent(self, request: str, size: int) -> None:
        """A request of `size` bytes has been sent, under this id."""
        estimate = self.estimate(size)
        self._open[request] = _Open(self.requests, size, estimate)
        self._beginning += 1
        for name in LIMITS:
            self._reserved[name] += estimate.of(name)
        self.requests += 1

    def answered(self, now: float, request: str, limits: Limits | None) -> None:
        """The reply to a request begins."""
        if (open_request := self._open.get(request)) is None:
            return
        self._aimd.answered(len(self._open))
        self._begun(open_request)
        self._told(now, limits, is_late=open_request.number < self._told_by)
        self._told_by = max(self._told_by, open_request.number)
        self._refusals = 0
        self._at_once += 1
        if self._at_once >= self._aimd.limit:
            self._at_once = math.inf

    def finished(self, now: float, request: str, usage: Mapping[str, int] | None = None) -> None:
        """A request is over, with this usage if it had a reply."""
        open_request = self._remove(request)
        if open_request is None or not usage:
            return
        output = usage.get("output", 0)
        self._buckets["output_tokens"].take(now, output)
        self._output_tokens += LEARNED * (output - self._output_tokens)
        per_byte = (usage.get("input", 0) + usage.get("cache_write", 0)) / max(1, open_request.size)
        self._tokens_per_byte += LEARNED * (per_byte - self._tokens_per_byte)

    def refused(self, now: float, request: str, retry_after_s: float | None, limits: Limits | None) -> None:
        """A request was refused because of a rate limit; it is over."""
        if request not in self._open:
            return
        pause = retry_after_s or min(FIRST_PAUSE_S * 2 ** min(self._refusals, 10), LONGEST_PAUSE_S)
        self._aimd.refused(now, len(self._open), pause)
        self._remove(request)
        self._told(now, limits)
        self.rate_limited += 1
        self._refusals += 1
        self._at_once = 1
        if now + pause > self._paused_until:
            self._paused_until = now + pause
            asked = "asks for a pause" if retry_after_s else "says too many requests"
            self._why_paused = f"the server {asked}"

    def _begun(self, request: _Open) -> None:
        """The headers have counted its input."""
        if not request.has_begun:
            request.has_begun = True
            self._beginning -= 1
            for name in LIMITS:
                if name != "output_tokens":
                    self._reserved[name] -= request.estimate.of(name)

    def _remove(self, request: str) -> _Open | None:
        """Removes an open request. Returns it if its reply had begun."""
        found = self._open.pop(request, None)
        if found is None:
            return None
        has_begun = found.has_begun
        self._begun(found)
        self._reserved["output_tokens"] -= found.estimate.output_tokens
        if not self._open:
            self._reserved = dict.fromkeys(LIMITS, 0.0)  # sums of floats are not exact
        return found if has_begun else None

    def _told(self, now: float, limits: Limits | None, *, is_late: bool = False) -> None:
        if limits is not None:
            for name in LIMITS:
                if (told := getattr(limits, name)) is not None:
                    self._buckets[name].told(now, told, is_late=is_late)


class Aimd:
    """How many requests may be open at the same time: more while all goes well, fewer after a refusal. For servers that
    send no headers, and for accounts that others use, too.

    A limit from 1 to `most`. Until the first refusal it grows by one for each answer, so it doubles with each round;
    then by one for each round."""

    def __init__(self, most: int) -> None:
        self._most = float(max(1, most))
        self._limit = min(float(FIRST), self._most)
        self._is_starting = True
        self._no_cut_until = 0.0

    def set_most(self, most: int) -> None:
        """A limit that was above falls to `most`; one below grows as before."""
        self._most = float(max(1, most))
        self._limit = min(self._limit, self._most)

    @property
    def limit(self) -> int:
        return int(self._limit)

    def answered(self, open_requests: int) -> None:
        """A reply has begun, while `open_requests` were open, itself included."""
        if open_requests >= USED * int(self._limit):
            step = 1.0 if self._is_starting else 1.0 / self._limit
            self._limit = min(self._limit + step, self._most)

    def refused(self, now: float, open_requests: int, retry_after_s: float) -> None:
        """A request was refused because of a rate limit, while `open_requests` were open, itself included. Cuts the
        limit to what was in use, but not below `FIRST`: the server has not shown that it takes more."""
        self._is_starting = False
        if now >= self._no_cut_until:
            self._limit = max(1.0, min(self._limit, max(float(open_requests), FIRST)) * CUT)
            self._no_cut_until = now + max(CUT_AGAIN_S, retry_after_s)


class Bucket:
    """The rest of one rate limit, as the headers of answers tell it. Before `told`, it is unknown and limits
    nothing.

    Anthropic refills its buckets all the time, up to the limit of a minute; `reset` is when a bucket would be full
    again. Other servers count anew at `reset`. In both cases the bucket is full then, so its rate follows from that
    time.
    """

    def __init__(self) -> None:
        self.limit = 0
        """0 while it is not known, or if the provider does not have it."""
        self._level = 0.0
        self._at = 0.0
        self._rate = 0.0

    def told(self, now: float, told: RateLimit, *, is_late: bool = False) -> None:
        """Takes what an answer says. With `is_late` an answer to a later request has told before: what is left is then
        the less of both."""
        least = self.level(now) if is_late and told.limit == self.limit else math.inf
        if told.limit != self.limit:
            self._rate = told.limit / WINDOW_S
        self.limit = told.limit
        self._level = float(min(told.remaining, told.limit, least))
        self._at = now
        if told.reset_s is not None and told.reset_s >= TELLING_RESET_S and told.remaining < told.limit:
            self._rate = (told.limit - told.remaining) / told.reset_s

    @property
    def is_per_minute(self) -> bool:
        return bool(self.limit) and math.isclose(self._rate * WINDOW_S, self.limit, rel_tol=0.3)

    def level(self, now: float) -> float:
        """The rest of the limit."""
        return min(self.limit, self._level + self._rate * max(0.0, now - self._at))

    def take(self, now: float, amount: float) -> None:
        """Takes what was used since the last answer told."""
        self._level, self._at = self.level(now) - amount, now

    def ready_at(self, now: float, amount: float) -> float:
        """When `amount` is there, `now` at the earliest; if it is more than the limit, when the bucket is full."""
        missing = min(amount, self.limit) - self.level(now)
        return now if missing <= 0 else now + missing / self._rate if self._rate else math.inf
