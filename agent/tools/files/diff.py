"""Shows what an edit changed: lines prefixed by a space, `-` or `+`, with `...` between distant changes.

The positions of the changes are known, so only the lines that they touch are compared. In zot the time grows with the
square of the file's length.
"""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from itertools import pairwise

Replacement = tuple[int, int, bytes]
"""Start and end offset in the old file, and the new bytes."""

CONTEXT_LINES = 3
MAX_BYTES = 51_200
MAX_LINE_BYTES = 2_000
_MAX_LINES = 2_000
"""Maximum of compared lines on one side."""
_MAX_PAIRS = 20_000
"""Maximum of compared pairs of equal lines. difflib looks at each of them several times."""

_Change = tuple[int, int, list[bytes]]
"""Start and end offset of whole old lines, and the new lines."""


def render(old: bytes, replacements: list[Replacement]) -> str:
    """The diff for `replacements`, which must be ascending and disjoint.

    The diff does not show the kind of a line end. It cuts long lines and a long diff, and says so.
    """
    changes = [change for block in _blocks(old, replacements) for change in _compare(old, *block)]
    shown: list[str] = []
    size = 0
    for prefix, line in _marked_lines(old, changes):
        text = _display(prefix, line)
        size += len(text.encode())
        if size > MAX_BYTES:
            shown.append(f"... [truncated at {MAX_BYTES} bytes]\n")
            break
        shown.append(text)
    return "".join(shown)


def _blocks(old: bytes, replacements: list[Replacement]) -> list[_Change]:
    """The replacements widened to whole lines; replacements that share a line become one change."""
    blocks: list[tuple[int, int, list[Replacement]]] = []
    for replacement in replacements:
        start = old.rfind(b"\n", 0, replacement[0]) + 1
        end = (old.find(b"\n", replacement[1]) + 1) or len(old)
        if blocks and start < blocks[-1][1]:
            first, last, members = blocks.pop()
            members.append(replacement)
            blocks.append((first, max(last, end), members))
        else:
            blocks.append((start, end, [replacement]))
    return [(start, end, _lines(_splice(old, start, end, members))) for start, end, members in blocks]


def _splice(old: bytes, start: int, end: int, members: list[Replacement]) -> bytes:
    pieces = []
    for first, last, new in members:
        pieces += [old[start:first], new]
        start = last
    return b"".join([*pieces, old[start:end]])


def _compare(old: bytes, start: int, end: int, new_lines: list[bytes]) -> list[_Change]:
    """The changes that turn the old lines from `start` to `end` into `new_lines`."""
    raw_lines = _lines(old[start:end])
    old_lines, new_lines = [_with_lf(line) for line in raw_lines], [_with_lf(line) for line in new_lines]
    offsets = [start]
    for line in raw_lines:
        offsets.append(offsets[-1] + len(line))
    kept = [(-1, -1), *common_lines(old_lines, new_lines), (len(old_lines), len(new_lines))]
    return [
        (offsets[i + 1], offsets[next_i], new_lines[j + 1 : next_j])
        for (i, j), (next_i, next_j) in pairwise(kept)
        if next_i > i + 1 or next_j > j + 1
    ]


def common_lines(old: list[bytes], new: list[bytes]) -> list[tuple[int, int]]:
    """Pairs of indices of equal lines, ascending, as `difflib` finds them.

    If the part between the first and the last difference is too large to compare, all of it counts as changed.
    """
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    pairs = [(i, i) for i in range(head)]
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    frequency = Counter(right)
    if max(len(left), len(right)) <= _MAX_LINES and sum(frequency[line] for line in left) <= _MAX_PAIRS:
        # Without `autojunk` frequent lines count, too, such as empty ones.
        matcher = SequenceMatcher(None, left, right, autojunk=False)
        for i, j, length in matcher.get_matching_blocks():
            pairs += [(head + i + k, head + j + k) for k in range(length)]
    return pairs + [(len(old) - k, len(new) - k) for k in range(tail, 0, -1)]


def _marked_lines(old: bytes, changes: list[_Change]) -> list[tuple[str, bytes]]:
    marked: list[tuple[str, bytes]] = []
    position = 0  # where the previous change ended
    after = 0  # where the context after it ends
    for start, end, added in changes:
        before = _lines_back(old, start)
        if not marked:
            position = before
        elif before > after:
            marked += [(" ", line) for line in _lines(old[position:after])]
            marked.append(("...", b""))
            position = before
        marked += [(" ", line) for line in _lines(old[position:start])]
        marked += [("-", line) for line in _lines(old[start:end])]
        marked += [("+", line) for line in added]
        position, after = end, _lines_forward(old, end)
    return marked + [(" ", line) for line in _lines(old[position:after])]


def _lines_back(data: bytes, position: int) -> int:
    for _ in range(CONTEXT_LINES):
        if position == 0:
            break
        position = data.rfind(b"\n", 0, position - 1) + 1
    return position


def _lines_forward(data: bytes, position: int) -> int:
    for _ in range(CONTEXT_LINES):
        position = (data.find(b"\n", position) + 1) or len(data)
    return position


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _with_lf(line: bytes) -> bytes:
    return line[:-2] + b"\n" if line.endswith(b"\r\n") else line


def _display(prefix: str, line: bytes) -> str:
    text = _with_lf(line).removesuffix(b"\n")
    cut = f" ... [{len(text) - MAX_LINE_BYTES} more bytes]" if len(text) > MAX_LINE_BYTES else ""
    shown = f"{prefix}{text[:MAX_LINE_BYTES].decode(errors='replace')}{cut}\n"
    if prefix in "-+" and not line.endswith(b"\n"):
        shown += "\\ No newline at end of file\n"
    return shown
