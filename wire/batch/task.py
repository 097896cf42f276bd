"""A task: one prompt of a batch, and the settings of its run. One JSON object per line of a tasks file."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from wire.field_errors import explain
from wire.lenient_json import UNREADABLE, fault_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ID_LENGTH = 200
"""Maximum length of a task's id in characters."""
NAME_LENGTH = 100
"""Maximum length in bytes of a file name that is made of an id; a longer one ends in a part of its hash."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
HASH_SIGNS = 16
"""Hex digits of that hash. Ids without a safe character differ only there: with 8, two of 100,000 would be alike."""

Seconds = Annotated[float, msgspec.Meta(gt=0, le=31_536_000)]
Dollars = Annotated[float, msgspec.Meta(gt=0, le=1_000_000)]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One task. A missing field is as the flags of the batch say; a list or an object replaces that of the flags and is
    not added to it. Relative paths start at `cwd`, and `cwd` at the working folder of the batch command."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=ID_LENGTH)] = ""
    """Id of the task, unique in the batch, of printable characters. Default: the number of its line."""
    prompt: Text
    """The prompt of the run. With `--template` the template makes it."""
    cwd: Text | None = None
    """The working folder of the run, or of the batch command if absent. With `--workspace copy`, the run gets a
    copy."""
    files: tuple[Text, ...] = ()
    """Files that are sent with the prompt: images as images, others as text."""
    model: Text | None = None
    """Like `--model`."""
    provider: Text | None = None
    """Like `--provider`."""
    base_url: Text | None = None
    """Like `--base-url`."""
    system_prompt: str | None = None
    """Like `--system-prompt`."""
    ext: tuple[Text, ...] | None = None
    """Folders of extensions, like `--ext`."""
    tools: tuple[Text, ...] | None = None
    """The built-in tools that are on."""
    max_steps: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Like `--max-steps`."""
    timeout_s: Seconds | None = None
    """Maximum seconds of the run, without those in which it waits for a rate limit."""
    max_cost_usd: Dollars | None = None
    """Maximum US dollars of each attempt of this task."""
    output_schema: dict[str, Any] | Text | None = None
    """The JSON Schema of the final text, or a file with it."""
    env: dict[str, str] = {}
    """Environment variables of the run, for its tools and extensions, in addition to those of the batch command."""
    meta: dict[str, Any] = {}
    """Any JSON object; it goes unchanged into the result."""
    setup: Text | None = None
    """A shell command, run in the working folder before the run. If it fails the task is `setup_failed`."""
    check: Text | None = None
    """A shell command, run in the working folder after the run. If it fails the task is `check_failed`."""
    score: Text | None = None
    """A shell command, run in the working folder after the run and `check`, whatever they said. Its score is the number
    in the last line of its output, or `score` of the JSON object there, else 1 for exit status 0 and 0 for another."""
    replay: Text | None = None
    """A cassette that answers instead of the model."""
    repeat: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Number of the repetition, from 1. `--repeat` makes it, and adds it to the id: `fix#2`. Absent if the task runs
    once."""


class TaskError(ValueError):
    """A line is not a task; the text says why."""


_decoder = msgspec.json.Decoder(Task)
_encoder = msgspec.json.Encoder()


def decode_task(line: bytes) -> Task:
    """Returns the task of one line. The id may be empty. Raises `TaskError`."""
    try:
        task: Task = _decoder.decode(line)
    except msgspec.ValidationError as error:
        raise TaskError(_explain(str(error))) from None
    except UNREADABLE as error:
        raise TaskError(not_json(line, error)) from None
    _check_id(task)
    return task


def task_of(fields: Mapping[str, Any]) -> Task:
    """Returns the task with these fields. The id may be empty. Raises `TaskError`."""
    try:
        task = msgspec.convert(fields, Task)
    except msgspec.ValidationError as error:
        raise TaskError(_explain(str(error))) from None
    _check_id(task)
    return task


def not_json(line: bytes, error: Exception) -> str:
    """Says why a line is not JSON, and where: `not JSON: it ends in the middle (column 12)`."""
    what, place = fault_of(line, error)
    return f"not JSON: {what}" + ("" if place is None else f" (column {place.column})")


@lru_cache(256)
def _explain(said: str) -> str:
    """Cached: explaining a fault takes a thousand times as long as finding it, and each line of a file may have it."""
    return explain(Task, said).replace("expected str of length >= 1", "it is empty")


def _check_id(task: Task) -> None:
    """Raises `TaskError` for an id that cannot be shown, or whose ends cannot be seen, or that is not that of the
    repetition."""
    task_id, ending = task.id, f"#{task.repeat}"
    if task.repeat is not None and (not task_id.endswith(ending) or task_id == ending):
        raise TaskError(f"repeat: the id of repetition {task.repeat} is ID{ending}; --repeat makes both")
    if not task_id.isprintable():
        raise TaskError(f"id: {task_id!a} has a character that cannot be printed")
    if task_id != task_id.strip():
        raise TaskError(f"id: {task_id!r} begins or ends with white space")


def encode_task(task: Task) -> bytes:
    """One line, LF included, without the fields that have their default."""
    return _encoder.encode(task) + b"\n"


def encode_tasks(tasks: Sequence[Task]) -> bytes:
    """The lines of these tasks, as `encode_task` makes each."""
    return _encoder.encode_lines(tasks)


def safe_name(task_id: str) -> str:
    """Returns a file name for an id: never hidden, and unique even if the file system ignores case. An id of lower-case
    letters, digits, `_`, `.` and `-` is used unchanged; all other names have a `~`."""
    name = _UNSAFE.sub("_", task_id) or "_"
    if name == task_id.lower() and len(name) <= NAME_LENGTH and name[0] not in ".-" and not name.endswith("."):
        return name
    digest = hashlib.sha256(task_id.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_SIGNS]
    return f"{name.lstrip('.-')[: NAME_LENGTH - HASH_SIGNS - 1] or '_'}~{digest}"
