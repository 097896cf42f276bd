"""Tasks in a CSV file: the first row names the columns, each further row is a task. Pure.

A column with the name of a field of a task sets it; all others go into its `meta`, as texts.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import msgspec

from agent.batch.tasks.json_lines import FIELDS, LINE_LIMIT, PROMPT_TWICE
from wire.batch.task import TaskError, task_of
from wire.lenient_json import UNREADABLE
from wire.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.batch.tasks.faults import Faults
    from agent.batch.tasks.template import PromptTemplate
    from wire.batch.task import Task

LISTS = frozenset({"files", "ext", "tools"})
"""Fields whose cell has values with commas between them, or a JSON array."""
JSON = frozenset({"max_steps", "timeout_s", "max_cost_usd", "env", "repeat"})
"""Fields whose cell is a number or an object."""
TEXT_OR_JSON = frozenset({"output_schema"})


def tasks_in(
    name: str, content: bytes, template: PromptTemplate | None, faults: Faults, remarks: list[str]
) -> Iterator[tuple[int, Task]]:
    """The tasks with the numbers of the lines on which their rows begin. Faulty rows go to `faults`; what the user
    should look at goes to `remarks`."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        faults.add(f"{name}:{content.count(10, 0, error.start) + 1}", "this is not UTF-8: save the file as UTF-8")
        return
    columns: list[str] = []
    for number, row in _rows(name, text, faults):
        if not columns:
            columns = [cell.strip() for cell in row]
            if found := list(_wrong_columns(columns, template)):
                for fault in found:
                    faults.add(f"{name}:{number}", fault)
                return
            remarks += _likely_slips(f"{name}:{number}", columns, template)
        elif len(row) != len(columns):
            faults.add(f"{name}:{number}", f"the row has {len(row)} cells, and the first row {len(columns)}")
        else:
            try:
                yield number, _task(dict(zip(columns, row, strict=True)), template)
            except TaskError as error:
                faults.add(f"{name}:{number}", str(error))


def _rows(name: str, text: str, faults: Faults) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, with the numbers of their first lines."""
    if (nul := text.find("\0")) >= 0:
        faults.add(f"{name}:{text.count(chr(10), 0, nul) + 1}", "the line has a NUL character")
        return
    before = csv.field_size_limit(LINE_LIMIT)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        begin = 1
        try:
            for row in reader:
                if row:
                    yield begin, row
                begin = reader.line_num + 1
        except csv.Error as error:
            faults.add(f"{name}:{begin}", _csv_reason(str(error)))
    finally:
        csv.field_size_limit(before)


def _csv_reason(said: str) -> str:
    if "unexpected end" in said:
        return 'a quote (") opens in this row, and none closes it'
    if "field larger" in said:
        return f"a cell has more than {LINE_LIMIT:,} characters: put long texts into `files`"
    return f'not CSV: {said}; a quote (") within a quoted cell is written twice; no further row was read'


def _wrong_columns(columns: list[str], template: PromptTemplate | None) -> Iterator[str]:
    for index, column in enumerate(columns, 1):
        if not column:
            yield f"column {index} has no name"
        elif column in columns[: index - 1]:
            yield f"{column!r}: the column stands there twice"
    if "meta" in columns:
        yield "'meta': no column may be named so: every column that is no field of a task goes into its meta"
    if template is None:
        if "prompt" not in columns:
            yield "there is no column 'prompt': add one, or say with --template how the columns make a prompt"
        return
    if "prompt" in columns and "prompt" not in template.names:
        yield PROMPT_TWICE.replace("field", "column")
    for wanted in template.names:
        if wanted not in columns:
            hint = did_you_mean(wanted, columns) or f"there are {', '.join(columns)}"
            yield f"--template: {{{wanted}}}: no such column; {hint}"


def _likely_slips(place: str, columns: list[str], template: PromptTemplate | None) -> Iterator[str]:
    """Lines about columns that go into `meta`, and perhaps should not."""
    used = () if template is None else template.names
    for column in columns:
        if column not in FIELDS and column not in used and (hint := did_you_mean(column, FIELDS)):
            yield f"{place}: the column {column!r} goes into meta; {hint}"


def _task(cells: dict[str, str], template: PromptTemplate | None) -> Task:
    """Raises `TaskError`."""
    fields: dict[str, Any] = {
        column: _value(column, cell) for column, cell in cells.items() if column in FIELDS and cell.strip()
    }
    if template is not None:
        fields["prompt"] = template.fill(cells)
    if meta := {column: cell for column, cell in cells.items() if column not in FIELDS}:
        fields["meta"] = meta
    return task_of(fields)


def _value(column: str, cell: str) -> Any:
    """The value of a field. A cell that is not what the field needs stays a text, which the field then refuses."""
    text = cell.strip()
    is_json = column in JSON or (column in LISTS and text[0] == "[") or (column in TEXT_OR_JSON and text[0] == "{")
    if is_json:
        try:
            return msgspec.json.decode(text)
        except UNREADABLE:
            return text
    if column in LISTS:
        return [each.strip() for each in text.split(",")]
    return cell if column in ("prompt", "system_prompt") else text
