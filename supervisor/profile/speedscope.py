"""Reads profiles: the hot spots of a speedscope file, and a Node profile as a speedscope file. Pure.

https://www.speedscope.app shows such a file; py-spy writes it itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec

from supervisor.profile.errors import ProfileError
from supervisor.profile.outcome import HotSpot
from wire.lenient_json import UNREADABLE, reason

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
HOT_SPOTS = 5
"""Number of functions that are named."""
LEAST_BUSY = 0.01
"""The smallest part of the time for which a thread counts as busy. So the waits of idle threads come behind the work of
a busy one, and are named if no thread is busy."""
DEEPEST = 512
"""Maximum number of frames of a stack of Node; outer ones are left out. V8 itself samples 255."""
_THREAD = re.compile(r"\bThread (\d+)")
_NO_FUNCTION = frozenset({"(root)", "(idle)"})


class Frame(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    file: str | None = None
    line: int | None = None


class _SharedFrames(msgspec.Struct, frozen=True):
    frames: tuple[Frame, ...]


class ThreadSamples(msgspec.Struct, frozen=True):
    """The samples of one thread: stacks of numbers of frames, the innermost last, each with its seconds."""

    name: str
    samples: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...]
    type: str = "sampled"
    unit: str = "seconds"
    startValue: float = 0.0  # noqa: N815  (the names are the format's)
    endValue: float = 0.0  # noqa: N815


class Speedscope(msgspec.Struct, frozen=True):
    """A file of speedscope."""

    shared: _SharedFrames
    profiles: tuple[ThreadSamples, ...]
    schema: str = msgspec.field(name="$schema", default=SCHEMA)
    name: str | None = None
    exporter: str | None = None


def decode(text: bytes) -> Speedscope:
    """Raises `ProfileError` if the text is no such file, or has a stack with an unknown frame."""
    try:
        found = msgspec.json.decode(text, type=Speedscope)
    except UNREADABLE as error:
        raise ProfileError(f"the file is no profile: {reason(error)}") from None
    known = range(len(found.shared.frames))
    if any(number not in known for each in found.profiles for stack in each.samples for number in stack):
        raise ProfileError("the file is no profile: a stack names a frame that it does not have")
    return found


def hot_spots(profile: Speedscope, cpu_s: Mapping[int, float], seconds: float) -> tuple[HotSpot, ...]:
    """The `HOT_SPOTS` functions with the most time of their own. `cpu_s` has the processor time of threads by their
    ids, where known; `seconds` is the time of the profile. Functions of busy threads come first."""
    own: defaultdict[tuple[str, str | None], float] = defaultdict(float)
    weighed: defaultdict[tuple[str, str | None], float] = defaultdict(float)
    lines: defaultdict[tuple[str, str | None], defaultdict[int | None, float]] = defaultdict(lambda: defaultdict(float))
    for thread in profile.profiles:
        busy = _busy_part(thread.name, cpu_s, seconds)
        for stack, weight in zip(thread.samples, thread.weights, strict=False):
            if stack:
                frame = profile.shared.frames[stack[-1]]
                key = frame.name, frame.file
                own[key] += weight
                weighed[key] += weight * busy
                lines[key][frame.line] += weight
    hottest = sorted(own, key=lambda key: (-weighed[key], -own[key], key[0]))[:HOT_SPOTS]
    return tuple(
        HotSpot(name, _place(file, max(lines[name, file], key=lines[name, file].__getitem__)),
                round(own[name, file], 3), round(100 * own[name, file] / seconds, 1) if seconds > 0 else 0.0)
        for name, file in hottest
    )  # fmt: skip


def _busy_part(name: str, cpu_s: Mapping[int, float], seconds: float) -> float:
    thread = _THREAD.search(name)
    used = None if thread is None else cpu_s.get(int(thread[1]))
    return 1.0 if used is None or seconds <= 0 else max(LEAST_BUSY, used / seconds)


def _place(file: str | None, line: int | None) -> str:
    """The file with the folder that it lies in, and the line."""
    if not file:
        return ""
    short = "/".join(file.rstrip("/").split("/")[-2:]) if "/" in file and not file.startswith("node:") else file
    return short if line is None else f"{short}:{line}"


# --- Node --------------------------------------------------------------------------------------------------------


class _CallFrame(msgspec.Struct, frozen=True):
    functionName: str = ""  # noqa: N815  (the names are the protocol's)
    url: str = ""
    lineNumber: int = -1  # noqa: N815


class _Node(msgspec.Struct, frozen=True):
    id: int
    callFrame: _CallFrame  # noqa: N815
    children: tuple[int, ...] = ()


class CpuProfile(msgspec.Struct, frozen=True):
    """The profile of the inspector: a tree of calls, and for each sample a node and the microseconds since the last."""

    nodes: tuple[_Node, ...]
    startTime: float = 0  # noqa: N815
    endTime: float = 0  # noqa: N815
    samples: tuple[int, ...] = ()
    timeDeltas: tuple[int, ...] = ()  # noqa: N815


def from_node(given: Any, name: str) -> Speedscope:
    """The profile of the inspector as a speedscope file. Idle time has an empty stack. Raises
    `ProfileError` if it is no such profile."""
    try:
        found = msgspec.convert(given, CpuProfile)
    except msgspec.ValidationError as error:
        raise ProfileError(f"the inspector gave no profile: {error}") from None
    parents = {child: node.id for node in found.nodes for child in node.children}
    by_id = {node.id: node for node in found.nodes}
    numbers: dict[Frame, int] = {}
    stacks: dict[int, tuple[int, ...]] = {}

    def stack_of(id_: int) -> tuple[int, ...]:
        way: list[int] = []
        at: int | None = id_
        while at is not None and at in by_id and at not in stacks and len(way) <= len(by_id):
            way.append(at)
            at = parents.get(at)
        for each in reversed(way):
            below = stacks.get(parents.get(each, -1), ())[1 - DEEPEST :]
            call = by_id[each].callFrame
            if call.functionName in _NO_FUNCTION:
                stacks[each] = below
            else:
                stacks[each] = (*below, numbers.setdefault(_frame(call), len(numbers)))
        return stacks.get(id_, ())

    samples = tuple(stack_of(id_) for id_ in found.samples)
    deltas = [max(0, delta) / 1e6 for delta in found.timeDeltas]
    # A delta is the time before its sample; a sample lasts until the next one, the last one to the end.
    last = max(0.0, (found.endTime - found.startTime) / 1e6 - sum(deltas))
    weights = (*deltas[1 : len(samples)], last)[: len(samples)]
    weights = (*weights, *(0.0,) * (len(samples) - len(weights)))
    thread = ThreadSamples(name, samples, weights, endValue=sum(weights))
    return Speedscope(_SharedFrames(tuple(numbers)), (thread,), name=name, exporter="zot")


def _frame(call: _CallFrame) -> Frame:
    line = call.lineNumber + 1 if call.lineNumber >= 0 and call.url else None
    return Frame(call.functionName or "(anonymous)", call.url.removeprefix("file://") or None, line)


def encode(profile: Speedscope) -> bytes:
    return msgspec.json.encode(profile)
