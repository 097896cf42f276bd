"""Fails a test that is skipped and is not on the list of expected skips: in CI a missing program must not go unnoticed.

`ZOT_TEST_EXPECTED_SKIPS` names the file with the list; `.ci/run` sets it. Without it any test may skip.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Expected(NamedTuple):
    """Patterns as of `fnmatch`, of the name without its file and of the reason; in a name, `[` stands for itself."""

    test: str
    reason: str

    def matches(self, test: str, reason: str) -> bool:
        name = test.partition("::")[2]
        return fnmatchcase(name, self.test.replace("[", "[[]")) and fnmatchcase(reason, self.reason)


def read_expected(path: Path) -> list[Expected]:
    """One a line: name, `|`, reason. Lines that begin with `#` are comments."""
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return [Expected(*(part.strip() for part in line.split("|", 1))) for line in lines]


class ExpectedSkips:
    """A plugin of pytest. In the processes of pytest-xdist each looks at its own tests."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._expected = read_expected(path)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        report = yield
        if not hasattr(report, "wasxfail"):
            self._check(report)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Iterator[None]:
        report = yield
        self._check(report)
        return report

    def _check(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not any(row.matches(report.nodeid, reason_of(report)) for row in self._expected):
            report.outcome = "failed"
            report.longrepr = f"skipped, which {self._path} does not expect: {report.nodeid}: {reason_of(report)}"


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """As the test has given it."""
    assert isinstance(report.longrepr, tuple)
    return report.longrepr[2].removeprefix("Skipped: ")
