"""The `edit` tool: replaces exact, unique pieces of a text file.

Everything outside the replaced text keeps its bytes: the byte order mark, bytes that are not UTF-8, and each
line's own line end. zot rewrites every line end of a file that has one CRLF.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise

from agent.tools import arguments
from agent.tools.files.diff import Replacement, render
from agent.tools.files.place import find_place
from agent.tools.files.regular_file import open_regular
from agent.tools.files.user_file import replace_file
from agent.tools.outcome import ToolError, ToolOutput, os_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent.tools.files.place import FilePlace

MAX_FILE_BYTES = 64 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def run(args: arguments.Arguments, cwd: str, root: str = "") -> ToolOutput:
    """Apply all `edits` or none; each is located in the file as it is now. With a `root` only beneath it. The result is
    a diff. Raises ToolError."""
    given, path = arguments.path(args, cwd)
    edits = arguments.replacements(args)
    if not edits:
        raise ToolError("at least one edit is required")
    with find_place(path, root) as place:
        data = _read(given, place)
        mark = _BYTE_ORDER_MARK if data.startswith(_BYTE_ORDER_MARK) else b""
        body = data[len(mark) :]
        replacements = plan(body, edits, given)
        replace_file(place, mark + apply(body, replacements))
    return ToolOutput.of_text(render(body, replacements))


def plan(body: bytes, edits: list[tuple[str, str]], given: str) -> list[Replacement]:
    """The replacement in `body` for each edit, ascending. CRLF and LF match each other, in the file and in an edit.

    Only the part that differs between old and new text is replaced, so unchanged lines of an edit keep their line
    ends; new lines get the kind of the line ends around them. `given` names the file in errors. Raises ToolError for
    an edit that is empty, changes nothing, has no or several matches, or overlaps another.
    """
    unified = Unified(body)
    placed: list[tuple[int, int, Replacement]] = []
    for number, (old_text, new_text) in enumerate(edits, 1):
        _check_changes(number, old_text, new_text)
        old, new = with_lf(old_text.encode()), with_lf(new_text.encode())
        start = _locate(unified.text, old, number, given)
        placed.append((start, start + len(old), _replacement(unified, start, old, new, new_text.encode())))
    placed.sort(key=lambda item: item[:2])
    for (_, end, _), (next_start, _, _) in pairwise(placed):
        if next_start < end:
            raise ToolError("edits overlap; merge them into one edit")
    return [replacement for _, _, replacement in placed]


def apply(body: bytes, replacements: list[Replacement]) -> bytes:
    """`body` with the replacements made; they must be ascending and disjoint."""
    pieces = []
    position = 0
    for start, end, new in replacements:
        pieces += [body[position:start], new]
        position = end
    return b"".join([*pieces, body[position:]])


def _read(given: str, place: FilePlace) -> bytes:
    with open_regular(place, verb="open") as stream:
        try:
            data = stream.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise os_failure("read", place.shown, error) from None
    if len(data) > MAX_FILE_BYTES:
        raise ToolError(f"{given} has more than {MAX_FILE_BYTES} bytes, too many to edit; use bash")
    return data


def _check_changes(number: int, old: str, new: str) -> None:
    if not old:
        raise ToolError(f"edit {number}: oldText must not be empty")
    if old == new:
        raise ToolError(f"edit {number}: oldText equals newText")
    if with_lf(old.encode()) == with_lf(new.encode()):
        raise ToolError(
            f"edit {number}: oldText equals newText except for line ends, and edit keeps those of the file; "
            "use write or bash to change them"
        )


def _occurrences(text: bytes, wanted: bytes) -> int:
    """How often `wanted` occurs; 2 if two matches overlap. zot misses the overlap and edits the first match."""
    count = text.count(wanted)
    if count == 1 and text.find(wanted, text.index(wanted) + 1) >= 0:
        return 2
    return count


def _locate(text: bytes, old: bytes, number: int, given: str) -> int:
    count = _occurrences(text, old)
    if count == 0:
        raise ToolError(f"edit {number}: oldText not found in {given}")
    if count > 1:
        raise ToolError(f"edit {number}: oldText matches {count} times (must be unique) in {given}")
    return text.index(old)


def _replacement(unified: Unified, start: int, old: bytes, new: bytes, new_as_given: bytes) -> Replacement:
    end = start + len(old)
    head = _common_prefix(old, new)
    tail = _common_prefix(old[head:][::-1], new[head:][::-1])
    first, last = start + head, end - tail
    style = unified.style_for(start, end, first)
    if style is None:
        return unified.raw_offset(start), unified.raw_offset(end), new_as_given
    changed = new[head : len(new) - tail].replace(b"\n", style)
    return unified.raw_offset(first), unified.raw_offset(last), changed


def _common_prefix(left: bytes, right: bytes) -> int:
    """The number of equal leading bytes. A binary search, so that C code compares the bytes."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


# --- line ends ----------------------------------------------------------------------------------------------


class Unified:
    """A file's bytes with every CRLF read as LF (`text`), and the way back to the bytes (`raw_offset`)."""

    def __init__(self, raw: bytes) -> None:
        lines = raw.split(b"\r\n")
        self.text = b"\n".join(lines)
        self._crlf: list[int] = []
        """The positions in `text` of line ends that are CRLF in the file, ascending."""
        position = -1
        for line in lines[:-1]:
            position += len(line) + 1
            self._crlf.append(position)

    def raw_offset(self, position: int) -> int:
        """The offset in the file of `text[position]`; never one between CR and LF."""
        return position + bisect_left(self._crlf, position)

    def style_for(self, start: int, end: int, near: int) -> bytes | None:
        """The kind of line end for new lines at `near`, inside `text[start:end]`.

        The first of these line ends decides: the next one in the region, the one before `near` in the region, the next
        one after the region, the last one before the region. None if the file has no line end.
        """
        position = self.text.find(b"\n", near, end)
        if position < 0:
            position = self.text.rfind(b"\n", start, near)
        if position < 0:
            position = self.text.find(b"\n", end)
        if position < 0:
            position = self.text.rfind(b"\n", 0, start)
        if position < 0:
            return None
        return b"\r\n" if self._is_crlf(position) else b"\n"

    def _is_crlf(self, position: int) -> bool:
        index = bisect_left(self._crlf, position)
        return index < len(self._crlf) and self._crlf[index] == position


def with_lf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n")
