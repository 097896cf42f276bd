"""Groups tasks that failed for the same reason, without parts that differ, such as numbers and ids; and the lines of a
failed command that tell why. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cli.report.batch.figures import TaskFigures

COMPARED_CHARACTERS = 1000
"""Compared part of a reason, in characters."""
SHORTEST_ID = 3
"""Characters. A shorter id of a task is a word that may stand for anything."""
PLACE = "…"
_IDS = re.compile(
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"  # UUID
    r"|\b0x[0-9a-fA-F]+\b"
    r"|\b[a-zA-Z]{2,12}_(?=[A-Za-z0-9]*[0-9])[A-Za-z0-9]{8,64}\b"  # req_011CSHoEeqs5C35K2UUqR7Fy
    r"|\b(?=[a-f]*[0-9])[0-9a-f]{8,64}\b"  # a hash, or a long number
)
_KEPT = r"(?i:\b(?:http|status|exit|exit status|signal|code|errno|error)[ :=]{1,2}-?[0-9]{1,5}\b)|\([0-9]{3}\)"
"""Numbers that tell kinds apart: HTTP 429 is not HTTP 500."""
_NUMBERS = re.compile(rf"(?P<kept>{_KEPT})|(?P<number>(?<![A-Za-z0-9_])[0-9][0-9.,:]*(?<=[0-9]))")


_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_HEADING = re.compile(r"[^\w]{3,}.*[^\w]{3,}")
"""A line such as `=== FAILURES ===`."""
_TELLING = re.compile(
    r"(?i)(?<!\b0 )(?:error|fail(?:ed|ures?)\b|exception|\bassert|panic|fatal|not ok\b|denied|refused|no such|"
    r"not found|cannot|undefined|expected|mismatch)|^E  "
)
LINES, LINE_CHARACTERS = 3, 200


def telling_lines(output: str, most: int = LINES) -> str:
    """The first `most` lines of a failed command's output from the first that names a fault on; from the first line
    if none does. Without empty lines, headings and colours; empty if the output is."""
    lines = [_COLOURS.sub("", line).strip() for line in output.splitlines()]
    lines = [line for line in lines if any(map(str.isalnum, line)) and not _HEADING.fullmatch(line)]
    first = next((number for number, line in enumerate(lines) if _TELLING.search(line)), 0)
    return "\n".join(line[:LINE_CHARACTERS] for line in lines[first : first + most])


class ReasonGroup(msgspec.Struct):
    """Tasks that ended with one status, for one reason."""

    status: str
    reason: str
    """As it was, if it is the same for all; else with `…` for what differs. Empty if none was given."""
    tasks: list[TaskFigures]
    error_kind: str = ""
    """Kind of the failed request to the model, if that was the reason."""


def normalize(reason: str, task: str = "") -> str:
    """The reason without what is special about one run. `task` is the id of its task."""
    told = reason[:COMPARED_CHARACTERS]
    if len(task) >= SHORTEST_ID:
        told = re.sub(rf"(?<![A-Za-z0-9]){re.escape(task)}(?![A-Za-z0-9])", PLACE, told)
    told = _IDS.sub(PLACE, told)
    told = _NUMBERS.sub(lambda found: found["kept"] or PLACE, told)
    return " ".join(told.split())


def common_words(one: str, other: str) -> str:
    """The words that both texts have at the same places, with `…` for the others; empty if they are not as long."""
    words, others = one.split(), other.split()
    if len(words) != len(others):
        return ""
    return " ".join(word if word == with_it else PLACE for word, with_it in zip(words, others, strict=True))


def groups_of(tasks: Iterable[TaskFigures]) -> list[ReasonGroup]:
    """The tasks that have failed, the largest group first."""
    groups: dict[tuple[str, str, str], ReasonGroup] = {}
    for task in tasks:
        told = task.told
        if told is None or not task.has_failed:
            continue
        compared = normalize(told.reason, task.id)
        key = (told.status.value, told.error_kind, compared)
        group = groups.get(key)
        if group is None:
            groups[key] = ReasonGroup(told.status.value, told.reason, [task], told.error_kind)
            continue
        group.tasks.append(task)
        if group.reason != told.reason:
            group.reason = common_words(group.reason, told.reason) or compared
    return sorted(groups.values(), key=lambda group: (-len(group.tasks), group.status, group.reason))
