"""An account with limits: token buckets that are refilled all the time, in the headers and refusals of the real API."""

from __future__ import annotations

import json
import math
import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING

from tests.support.messages_server.replies import Reply, http_error, text_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.support.messages_server.server import Received

NAMES = ("requests", "input-tokens", "output-tokens")


@dataclass
class _Bucket:
    limit: float
    """Refilled in one minute."""
    level: float
    at: float

    def refill(self, now: float) -> None:
        self.level = min(self.limit, self.level + self.limit / 60 * (now - self.at))
        self.at = now

    def wait(self, amount: float) -> float:
        return max(0.0, min(amount, self.limit) - self.level) / (self.limit / 60)


class Account:
    """Takes what each request needs from its buckets, or says when they will have it. For any clock, without I/O."""

    def __init__(self, now: float, **limits: int) -> None:
        """Limits per minute, such as `requests=50, input_tokens=30_000`; the buckets are full at first."""
        self._buckets = {
            name.replace("_", "-"): _Bucket(float(limit), float(limit), now) for name, limit in limits.items()
        }
        assert set(self._buckets) <= set(NAMES)
        self.answered = 0
        self.refused = 0

    def take(self, now: float, **needed: float) -> float:
        """0 if the request is served, else the seconds to wait."""
        amounts = {name.replace("_", "-"): amount for name, amount in needed.items()}
        for bucket in self._buckets.values():
            bucket.refill(now)
        wait = max((bucket.wait(amounts.get(name, 0.0)) for name, bucket in self._buckets.items()), default=0.0)
        if wait > 1e-9:
            self.refused += 1
            return wait
        for name, bucket in self._buckets.items():
            bucket.level -= amounts.get(name, 0.0)
        self.answered += 1
        return 0.0

    def told(self) -> Mapping[str, tuple[int, int, float]]:
        """Limit, rest, and seconds until it is full, by the names in the headers."""
        return {
            name: (int(bucket.limit), max(0, int(bucket.level)), bucket.wait(bucket.limit))
            for name, bucket in self._buckets.items()
        }

    def headers(self) -> dict[str, str]:
        now = datetime.now(UTC)
        found = {"date": format_datetime(now.replace(microsecond=0), usegmt=True)}
        for name, (limit, left, reset) in self.told().items():
            full = now + timedelta(seconds=reset)
            found |= {
                f"anthropic-ratelimit-{name}-limit": str(limit),
                f"anthropic-ratelimit-{name}-remaining": str(left),
                f"anthropic-ratelimit-{name}-reset": full.replace(microsecond=0).isoformat().replace("+00:00", "Z"),
            }
        return found


def token_bucket(account: Account, reply: Callable[[Received], Reply] | None = None) -> Callable[[Received], Reply]:
    """For `MessagesServer.otherwise`: what an account with these limits answers. A request takes as many input tokens
    as its body has characters, divided by 4, and the output tokens of its reply are not known before."""
    lock = threading.Lock()

    def answer(request: Received) -> Reply:
        tokens = len(json.dumps(request.body)) // 4
        with lock:
            wait = account.take(time.monotonic(), requests=1, input_tokens=tokens)
            headers = account.headers()
        if wait:
            refused = http_error(429, "This request would exceed your rate limit", retry_after=math.ceil(wait))
            return replace(refused, headers={**refused.headers, **headers})
        served = text_reply("ok", input_tokens=tokens) if reply is None else reply(request)
        return replace(served, headers={**served.headers, **headers})

    return answer
