"""Nothing that scripts count on is gone since the last release: exit statuses, flags with their defaults and choices,
settings, environment variables and types of records.

`released_interface.json` has the tables of the last release. With each release, `python -m
tests.wire.test_released_interface` writes them anew. An entry may go only with a row in `REMOVED`, which says what a
user does instead.
"""

from __future__ import annotations

import json
import re
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

from agent.sessions import rows
from cli.app import app
from cli.version import VERSION
from supervisor.home.config import Config
from wire import schema
from wire.exit_codes import EXIT_CODES

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = Path(__file__).with_name("released_interface.json")
ROOT = Path(__file__).parents[2]
SESSION_ROWS = ("meta", "message", "usage", "rename", "summary", "compaction")
TAGGED = (
    "event",
    "stats",
    "batch.journal",
    "batch.record",
    "control.request",
    "control.reply",
    "rpc.request",
    "rpc.ext",
)
"""Schemas of unions, whose members differ by a tag."""

REMOVED: dict[str, str] = {
    "flag/zot batch merge *": "`zot batch status`, `results` and `zot report` take several RUNDIRs, and `--prefer`",
    "flag/zot batch export *": "`zot batch results --format jsonl` into a program for queries (`sqlite-utils`)",
    "flag/zot batch results --format": "no more `markdown`: `csv` or `jsonl`",
    "flag/zot batch results folder": "now `folders`: it takes several",
    "flag/zot batch status folder": "now `folders`: it takes several",
}
"""Entries that are gone since the last release, as `TABLE/ENTRY`, and the reason; `*` at the end stands for any
ending."""


def tables() -> dict[str, dict[str, Any]]:
    """Every table by its name: entry → value. A value must stay, too."""
    return {
        "exit status": {status.value: code for status, (code, _meaning) in EXIT_CODES.items()},
        "flag": dict(_flags()),
        "setting": dict.fromkeys(Config.__struct_fields__, True),
        "variable": dict.fromkeys(_variables(), True),
        "record": {f"{name} {tag}": True for name in TAGGED for tag in sorted(_tags(schema.generate(name)))},
        "session row": {name: True for name in SESSION_ROWS if _is_known_row(name)},
    }


def _flags() -> Iterator[tuple[str, Any]]:
    for command, definition in _commands("zot", typer.main.get_command(app)):
        for param in definition.params:
            choices = sorted(str(getattr(each, "value", each)) for each in getattr(param.type, "choices", ()))
            value = {"default": _plain(param.default), "is_multiple": bool(param.multiple), "choices": choices}
            for option in (*param.opts, *param.secondary_opts):
                yield f"{command} {option}", value


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    if isinstance(command, typer.core.TyperGroup):
        command.list_commands(typer.Context(command))  # some read their commands only when they are asked for
    for inner, sub_command in getattr(command, "commands", {}).items():
        yield from _commands(f"{name} {inner}", sub_command)


def _plain(value: Any) -> Any:
    """A default as JSON. An empty list of a repeatable flag and no value are the same to a user."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value] or None
    return value


def _variables() -> list[str]:
    """The environment variables that docs/config.md names in its table."""
    section = (ROOT / "docs" / "config.md").read_text(encoding="utf-8").split("## Environment variables")[1]
    cells = (line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))
    return sorted({name for cell in cells for name in re.findall(r"`([A-Z_]+)`", cell)})


def _tags(node: Any) -> set[str]:
    """The tags of all records in a schema: the one value of a member `type`, `state`, `op` or `command`."""
    if isinstance(node, list):
        return {tag for item in node for tag in _tags(item)}
    if not isinstance(node, dict):
        return set()
    own = {
        values[0]
        for member in ("type", "state", "op", "command")
        if isinstance(held := node.get("properties", {}).get(member), dict) and len(values := held.get("enum", [])) == 1
    }
    return own | {tag for item in node.values() for tag in _tags(item)}


def _is_known_row(name: str) -> bool:
    row = rows.read_row(json.dumps({"type": name, name: {}}).encode())
    return not isinstance(row, rows.Other)


RELEASED: dict[str, dict[str, Any]] = json.loads(FILE.read_text())["tables"] if FILE.exists() else {}


def is_removed(entry: str) -> bool:
    return any(entry == name or (name.endswith("*") and entry.startswith(name[:-1])) for name in REMOVED)


@pytest.mark.parametrize("table", RELEASED)
def test_each_entry_is_as_released(table):
    now = tables()[table]
    gone = {name: value for name, value in RELEASED[table].items() if not is_removed(f"{table}/{name}")}
    assert {name: value for name, value in gone.items() if not _holds(value, now.get(name))} == {}


def _holds(released: Any, now: Any) -> bool:
    """Whether the entry is as it was; a flag may have more choices."""
    if isinstance(released, dict) and isinstance(now, dict):
        return {**now, "choices": []} == {**released, "choices": []} and set(released["choices"]) <= set(now["choices"])
    return bool(released == now)


def test_no_table_is_empty():
    assert [name for name, table in RELEASED.items() if not table] == []
    assert set(RELEASED) == set(tables())


def test_nothing_is_called_removed_that_is_there():
    """Also an entry that never was: a row of `REMOVED` excuses only what it names."""
    there = {f"{table}/{name}" for table, entries in tables().items() for name in entries}
    was = {f"{table}/{name}" for table, entries in RELEASED.items() for name in entries}
    for name in REMOVED:
        excused = {entry for entry in was if entry == name or (name.endswith("*") and entry.startswith(name[:-1]))}
        assert excused, name
        assert all(not _holds(RELEASED[_table(entry)][_entry(entry)], tables()[_table(entry)].get(_entry(entry)))
                   for entry in excused & there), name  # fmt: skip


def _table(entry: str) -> str:
    return entry.split("/", 1)[0]


def _entry(entry: str) -> str:
    return entry.split("/", 1)[1]


def main() -> None:
    lines = [
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in table.items())
        + "\n}"
        for name, table in tables().items()
    ]
    body = ",\n".join(lines)
    FILE.write_text(f'{{"release": {json.dumps(VERSION)}, "tables": {{\n{body}\n}}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
