"""Tasks in JSON Lines: one object per line. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

import msgspec

from wire.batch.task import Task, TaskError, decode_task, not_json, task_of
from wire.lenient_json import UNREADABLE, find_repeated
from wire.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.batch.tasks.faults import Faults
    from agent.batch.tasks.template import PromptTemplate

LINE_LIMIT = 16 * 1024 * 1024
"""Bytes of a line."""
FIELDS = Task.__struct_fields__
_NAME = re.compile(rb'"(?:%s)"' % "|".join(FIELDS).encode())
"""The name of a field; also where it is a name within another field, or a text."""
PROMPT_TWICE = "prompt: --template makes the prompt: name {prompt} in it, or leave the field out"


def tasks_in(name: str, content: bytes, template: PromptTemplate | None, faults: Faults) -> Iterator[tuple[int, Task]]:
    """The tasks with the numbers of their lines. Faulty lines go to `faults`."""
    if (reason := _whole(content)) is not None:
        faults.add(f"{name}:1", reason)
        return
    for number, whole in enumerate(BytesIO(content), 1):
        if not (line := whole.removesuffix(b"\n")):
            continue
        try:
            yield number, _task(line, template)
        except TaskError as error:
            if not line.isspace():
                faults.add(f"{name}:{number}", str(error))


def _whole(content: bytes) -> str | None:
    """Why the content is JSON, but not line by line; None if it may be."""
    start = content[:4096].lstrip()
    first = start.partition(b"\n")[0].strip()
    if start.startswith(b"["):
        return "this is a JSON array; each task stands on a line of its own: jq -c '.[]' FILE > tasks.jsonl"
    if first == b"{":
        return "this is an object over several lines; each task stands on one line: jq -c . FILE > tasks.jsonl"
    return None


def _task(line: bytes, template: PromptTemplate | None) -> Task:
    """Raises `TaskError`."""
    if len(line) > LINE_LIMIT:
        raise TaskError(f"the line has {len(line):,} bytes; the limit is {LINE_LIMIT:,}: put long texts into `files`")
    try:
        task = decode_task(line) if template is None else _filled(line, template)
    except TaskError:
        if b"\0" in line:
            raise TaskError("the line has a NUL byte, which JSON cannot have: save the file as UTF-8") from None
        raise
    if line.count(b":") > 1 + bool(task.id):  # else there is the prompt, the id, and no other name
        names = _NAME.findall(line)
        if len(names) != len(set(names)) and (twice := find_repeated(line, FIELDS)):
            raise TaskError(f"{twice}: the line has it twice; leave one out")
    return task


def _filled(line: bytes, template: PromptTemplate) -> Task:
    """Raises `TaskError`."""
    try:
        fields: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.ValidationError:
        raise TaskError('a task is an object, such as {"id": "a", "meta": {"topic": "tea"}}') from None
    except UNREADABLE as error:
        raise TaskError(not_json(line, error)) from None
    if "prompt" in fields and "prompt" not in template.names:
        raise TaskError(PROMPT_TWICE)
    meta = fields.get("meta")
    values = {**meta, **fields} if isinstance(meta, dict) else fields
    try:
        prompt = template.fill(values)
    except KeyError as error:
        raise TaskError(_no_field(str(error.args[0]), tuple(values))) from None
    return task_of({**fields, "prompt": prompt})


@lru_cache(256)
def _no_field(missing: str, known: tuple[str, ...]) -> str:
    hint = did_you_mean(missing, known) or f"there are {', '.join(known) or 'none'}"
    return f"--template: {{{missing}}}: no such field, in the task or in its meta; {hint}"
