"""Each row of the table in docs/reliability.md names tests that exist, and each weakness of the reference has a row."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
WEAKNESSES = [f"W{number}" for number in range(1, 19)] + [f"W19{letter}" for letter in "abcdefgh"]
NAMED_TEST = re.compile(r"`([\w/]+\.py)::(\w+)(?:\[([^\]`]+)\])?`")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows(first: str) -> list[list[str]]:
    """Rows whose first cell begins with `first` and a digit."""
    return [cells(line) for line in TEXT.splitlines() if re.match(rf"\| {first}\d", line)]


FAULTS = rows("F")


@cache
def names_in(path: str) -> tuple[set[str], set[str]]:
    """Names of the test functions of a file, and all its strings, which include parameters."""
    module = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    names = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    strings = {
        node.value for node in ast.walk(module) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return names, strings


def test_there_are_rows() -> None:
    assert len(FAULTS) > 80


def test_each_row_has_an_id_of_its_own_in_the_order_of_its_table() -> None:
    assert len({row[0] for row in FAULTS}) == len(FAULTS)
    for table in TEXT.split("\n## "):
        ids = [int(number) for number in re.findall(r"^\| F(\d+)", table, re.MULTILINE)]
        assert ids == sorted(ids)


@pytest.mark.parametrize("row", FAULTS, ids=lambda row: row[0])
def test_each_row_says_all_and_names_tests_that_exist(row: list[str]) -> None:
    assert len(row) == 5, "id, injected, seen, guaranteed, tests"
    assert all(row)
    named = NAMED_TEST.findall(row[4])
    assert named, f"{row[0]} has no test"
    assert NAMED_TEST.sub("", row[4]).strip() == "", "nothing but tests"
    for path, name, parameter in named:
        assert name.startswith("test_")
        assert (ROOT / "tests" / path).is_file(), f"{row[0]}: there is no tests/{path}"
        names, strings = names_in(path)
        assert name in names, f"{row[0]}: there is no {name} in tests/{path}"
        assert not parameter or parameter in strings, f"{row[0]}: {name} has no parameter {parameter}"


def test_every_weakness_of_the_reference_has_rows() -> None:
    mapped = {row[0]: row for row in rows("W")}
    assert list(mapped) == WEAKNESSES
    ids = {row[0] for row in FAULTS}
    for weakness, row in mapped.items():
        named = re.findall(r"F\d+", row[2])
        assert named, f"{weakness} has no row"
        assert set(named) <= ids, f"{weakness} names a row that is not there"


def test_what_is_not_promised_is_said() -> None:
    assert re.search(r"^## What is not promised$", TEXT, re.MULTILINE)
    assert TEXT.index("## What is not promised") > TEXT.index("## Weaknesses")


def test_every_test_of_a_whole_run_has_a_row() -> None:
    """A reader finds every fault test through the table."""
    named = {(path, name) for row in FAULTS for path, name, _ in NAMED_TEST.findall(row[4])}
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        if file.name in (Path(__file__).name, "test_a_run_survives.py"):
            continue
        path = f"faults/{file.name}"
        missing = {name for name in names_in(path)[0] if name.startswith("test_")} - {
            name for there, name in named if there == path
        }
        assert not missing, f"{path}: no row names {missing}"
