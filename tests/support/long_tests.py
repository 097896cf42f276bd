"""The tests that `make test` leaves to `make test-slow` because they take long: `tests/long_tests.txt`.

`make long-tests` measures all tests of `make test` and adds those that took `LONG_S` or more on average; a test that
has become quick is taken off the list by hand. A test that is always long, wherever it runs, has the mark `slow`.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[2]
FILE = ROOT / "tests" / "long_tests.txt"
LONG_S = 0.3


def listed() -> frozenset[str]:
    """`FILE::FUNCTION` of each test on the list."""
    return frozenset(line for line in FILE.read_text().splitlines() if line and not line.startswith("#"))


def mark(items: Iterable[pytest.Item]) -> None:
    """Marks the tests on the list as slow."""
    names = listed()
    for item in items:
        if _name(item.nodeid) in names:
            item.add_marker(pytest.mark.slow)


def _name(nodeid: str) -> str:
    """The test without its parameters and its class."""
    file, *_, function = nodeid.split("[")[0].split("::")
    return f"{file}::{function}"


def measured(report: Path) -> frozenset[str]:
    """The long tests of a report in the form of JUnit."""
    times: dict[str, list[float]] = defaultdict(list)
    for case in ET.parse(report).getroot().iter("testcase"):
        place = Path(*case.get("classname", "").split("."))
        while not (ROOT / place.with_suffix(".py")).is_file():
            place = place.parent  # a test in a class
        function = case.get("name", "").split("[")[0]
        times[f"{place.with_suffix('.py').as_posix()}::{function}"].append(float(case.get("time", "0")))
    long = {name for name, each in times.items() if sum(each) / len(each) >= LONG_S}
    return frozenset(name for name in long if not name.endswith("::runTest"))  # of a state machine: no function


if __name__ == "__main__":
    heading = "".join(line for line in FILE.read_text().splitlines(keepends=True) if line.startswith("#"))
    FILE.write_text(heading + "".join(f"{name}\n" for name in sorted(listed() | measured(Path(sys.argv[1])))))
