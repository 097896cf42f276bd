"""The provider's cache of prompt prefixes, by its documented rules. Pure: the caller has the clock.

Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching, read in November 2026. Rules, with their
names there in quotes:

- A prompt is a row of blocks: tools, then system, then messages. A prefix is cached if it ends at a block with
  `cache_control` ("breakpoint") and is at least as long as the model's minimum; at most 4 blocks may have one.
- A read finds the longest prefix that an earlier request has written. It looks at 20 positions from each breakpoint
  backwards, the breakpoint being the first ("lookback window").
- Prefixes match by content; the marks do not count. Messages also match by `tool_choice`, by the settings of thinking
  and by whether there are images.
- An entry can be read once the reply of the request that wrote it has begun. It lives for 5 minutes or 1 hour from the
  start of the last request that wrote or read it. A mark for 1 hour must not follow one for 5 minutes.
- Up to the end of the prefix that was read, tokens are read; from there to the last mark for 1 hour they are written
  for 1 hour; from there to the last mark for 5 minutes; the rest is input.
- Caches belong to a workspace and a model: one `PrefixCache` is one workspace.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

BREAKPOINTS = 4
LOOKBACK = 20
TTL_S = {"5m": 300.0, "1h": 3600.0}
MINIMUM: Mapping[str, int] = {
    "claude-fable-5-1": 512, "claude-fable-5": 512, "claude-opus-5-5": 512, "claude-opus-5": 512,
    "claude-sonnet-5-5": 512, "claude-haiku-5-5": 512,
    "claude-opus-4-8": 1_024, "claude-sonnet-5": 1_024, "claude-sonnet-4-6": 1_024, "claude-sonnet-4-5": 1_024,
    "claude-opus-4-7": 2_048,
    "claude-opus-4-6": 4_096, "claude-opus-4-5": 4_096, "claude-haiku-4-5": 4_096,
}  # fmt: skip
"""Tokens of the shortest prefix that is cached ("minimum cacheable prompt length")."""
UNKNOWN_MINIMUM = 1_024


class CacheRuleError(ValueError):
    """The request breaks a rule; the API answers it with HTTP 400 and this text."""


class CacheUse(NamedTuple):
    """The tokens of one prompt."""

    input: int
    read: int
    written_5m: int
    written_1h: int

    @property
    def total(self) -> int:
        return sum(self)

    @property
    def usage(self) -> dict[str, int]:
        """The keyword arguments of `replies.message_events`."""
        return {
            "input_tokens": self.input,
            "cache_read": self.read,
            "cache_write": self.written_5m + self.written_1h,
            "cache_write_1h": self.written_1h,
        }


def count_tokens(block: Any) -> int:
    """The tokens of a block: a quarter of its bytes as JSON, at least 1."""
    return max(1, len(json.dumps(block, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")) // 4)


@dataclass(frozen=True)
class CachePosition:
    """The prefix that ends at one block."""

    key: bytes
    """Equal for prefixes of equal content."""
    tokens: int
    ttl: str | None
    """`5m` or `1h` for a breakpoint."""


@dataclass
class _Entry:
    ttl_s: float
    expires: float


@dataclass(frozen=True)
class CachedRequest:
    """A request whose reply has not begun."""

    use: CacheUse
    began: float
    writes: tuple[CachePosition, ...] = field(repr=False)


class PrefixCache:
    """`begin` counts a request, in the order in which they arrive; `answered` makes what it has written readable."""

    def __init__(self, *, minimum: int | None = None, count: Callable[[Any], int] = count_tokens) -> None:
        """`minimum`: tokens of the shortest prefix, in place of the model's."""
        self._minimum = minimum
        self._count = count
        self._entries: dict[bytes, _Entry] = {}

    def begin(self, body: Mapping[str, Any], now: float) -> CachedRequest:
        """Raises `CacheRuleError`."""
        found = positions(body, self._count)
        _check(found)
        minimum = least_cached(str(body.get("model", ""))) if self._minimum is None else self._minimum
        marked = [at for at, one in enumerate(found) if one.ttl is not None and one.tokens >= minimum]
        hit = self._find(found, marked, now)
        read = 0 if hit is None else found[hit].tokens
        for at in marked if hit is None else (*marked, hit):
            entry = self._entries.get(found[at].key)
            if entry is not None and now < entry.expires:
                entry.expires = now + entry.ttl_s
        ends = {ttl: max((found[at].tokens for at in marked if found[at].ttl == ttl), default=0) for ttl in TTL_S}
        hour = max(read, ends["1h"])
        end = max(hour, ends["5m"])
        total = found[-1].tokens if found else 0
        return CachedRequest(
            CacheUse(total - end, read, end - hour, hour - read), now, tuple(found[at] for at in marked)
        )

    def answered(self, request: CachedRequest, now: float) -> None:
        """The reply has begun."""
        for one in request.writes:
            assert one.ttl is not None
            entry = self._entries.get(one.key)
            if entry is None or now >= entry.expires:
                self._entries[one.key] = _Entry(TTL_S[one.ttl], request.began + TTL_S[one.ttl])

    def _find(self, found: Sequence[CachePosition], marked: Sequence[int], now: float) -> int | None:
        """The last position that has an entry and is in the window of a breakpoint."""
        for at in reversed(marked):
            for position in range(at, max(-1, at - LOOKBACK), -1):
                entry = self._entries.get(found[position].key)
                if entry is not None and now < entry.expires:
                    return position
        return None


def least_cached(model: str) -> int:
    """Tokens of the shortest prefix that is cached with this model."""
    known = [name for name in MINIMUM if model.startswith(name)]
    return MINIMUM[max(known, key=len)] if known else UNKNOWN_MINIMUM


def allowed_read(
    bodies: Iterable[Mapping[str, Any]], *, minimum: int | None = None, count: Callable[[Any], int] = count_tokens
) -> tuple[int, int]:
    """The most tokens that can be read from the cache, and all input tokens, of requests in this order: if each begins
    when the reply of the one before has begun, nothing expires, and each block may be a breakpoint. `minimum`: as in
    `PrefixCache`."""
    seen: set[bytes] = set()
    read = total = 0
    for body in bodies:
        found = positions(body, count)
        least = least_cached(str(body.get("model", ""))) if minimum is None else minimum
        read += max((one.tokens for one in found if one.key in seen and one.tokens >= least), default=0)
        total += found[-1].tokens if found else 0
        seen.update(one.key for one in found)
    return read, total


def positions(body: Mapping[str, Any], count: Callable[[Any], int] = count_tokens) -> list[CachePosition]:
    """The prefixes of a request, from the first tool to the last block of the last message."""
    found: list[CachePosition] = []
    key, tokens = hashlib.sha256(_dump(body.get("model"))).digest(), 0
    for level, block in _blocks(body):
        plain = {name: value for name, value in block.items() if name != "cache_control"}
        key = hashlib.sha256(key + _dump([level, plain])).digest()
        tokens += count(plain)
        mark = block.get("cache_control")
        found.append(CachePosition(key, tokens, None if mark is None else mark.get("ttl", "5m")))
    return found


def _blocks(body: Mapping[str, Any]) -> Iterable[tuple[Any, dict[str, Any]]]:
    """Each block with the things beside its content by which it matches."""
    yield from (("tools", tool) for tool in body.get("tools", ()))
    yield from (("system", block) for block in _content(body.get("system", ())))
    messages = body.get("messages", ())
    images = any(_has_image(block) for message in messages for block in _content(message["content"]))
    settings = [body.get("tool_choice"), body.get("thinking"), body.get("output_config"), images]
    for message in messages:
        for block in _content(message["content"]):
            yield [message["role"], settings], block


def _content(content: Any) -> Sequence[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _has_image(block: Mapping[str, Any]) -> bool:
    inside = block.get("content") if block.get("type") == "tool_result" else None
    return block.get("type") == "image" or (isinstance(inside, list) and any(map(_has_image, inside)))


def _check(found: Sequence[CachePosition]) -> None:
    ttls = [one.ttl for one in found if one.ttl is not None]
    if len(ttls) > BREAKPOINTS:
        raise CacheRuleError(
            f"A maximum of {BREAKPOINTS} blocks with cache_control may be provided. Found {len(ttls)}."
        )
    if any(ttl not in TTL_S for ttl in ttls):
        raise CacheRuleError("cache_control.ephemeral.ttl: Input should be '5m' or '1h'")
    if "5m" in ttls and "1h" in ttls[ttls.index("5m") :]:
        raise CacheRuleError("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
