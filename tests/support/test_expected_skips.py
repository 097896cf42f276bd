"""A skip that is not on the list fails the run, and says which test and why; those on the list do not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.expected_skips import ExpectedSkips, read_expected
from tests.support.nested_pytest import run_pytest
from tests.support.warm_start import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow  # each starts a pytest of its own

TESTS = """
import pytest

@pytest.mark.skip(reason="root may write")
def test_marked(): ...

@pytest.mark.parametrize("tool", ["node", "go"])
def test_tool(tool):
    pytest.skip(f"no {tool} here")

@pytest.mark.xfail(reason="as expected")
def test_fails():
    assert False
"""
ALL = "# why\n\ntest_marked | root may *\ntest_tool[*] | no * here\n"


def test_a_skip_that_is_not_expected_fails_the_run(tmp_path: Path):
    ran = run_pytest(tmp_path, TESTS, expected=ALL.replace("[*]", "[node]").replace("root may *", "no root"))
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "skipped, which expected.txt does not expect: test_x.py::test_tool[go]: no go here" in ran.stdout
    assert "test_x.py::test_marked: root may write" in ran.stdout, "for another reason than the list has"
    assert "1 failed, 1 skipped, 1 xfailed, 1 error" in ran.stdout.splitlines()[-1]


def test_expected_skips_are_skips(tmp_path: Path):
    ran = run_pytest(tmp_path, TESTS, expected=ALL)
    assert (ran.returncode, ran.stdout.splitlines()[-1].split(" in ")[0]) == (0, "3 skipped, 1 xfailed")


def test_a_file_that_is_skipped_whole_is_found_too(tmp_path: Path):
    ran = run_pytest(tmp_path, "import pytest\npytest.importorskip('no_such_module')\n", expected=ALL)
    assert ran.returncode != 0
    assert "does not expect: test_x.py: could not import 'no_such_module'" in ran.stdout


def test_what_a_process_of_xdist_finds_comes_to_the_one_that_counts(tmp_path: Path):
    (tmp_path / "list").write_text(ALL)
    skipped = pytest.TestReport(
        "test_x.py::test_late", ("test_x.py", 1, "late"), {}, "skipped", ("x.py", 1, "Skipped: why"), "call"
    )
    ExpectedSkips(tmp_path / "list")._check(skipped)
    sent = json.loads(json.dumps(skipped._to_json()))
    arrived = pytest.TestReport._from_json(sent)
    assert arrived.failed
    assert "does not expect: test_x.py::test_late: why" in arrived.longreprtext


def test_the_list_of_this_project():
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    code = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    for row in read_expected(ROOT / "tests" / "expected_skips.txt"):
        assert f"\ndef {row.test.partition('[')[0]}(" in tests, row
        assert "*" in row.reason or f'"{row.reason}"' in code, row
