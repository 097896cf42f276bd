"""The list of long tests names tests that exist."""

from __future__ import annotations

import re

from tests.support import long_tests


def test_each_line_names_a_test():
    """A test that was renamed would come back to `make test` unseen."""
    texts: dict[str, str] = {}
    for name in long_tests.listed():
        file, function = name.split("::")
        path = long_tests.ROOT / file
        text = texts.setdefault(file, path.read_text() if path.is_file() else "")
        assert re.search(rf"^\s*(async )?def {function}\(", text, re.MULTILINE), name


def test_a_test_that_took_long_is_found_and_a_quick_one_is_not(tmp_path):
    report = tmp_path / "durations.xml"
    name = "tests.support.test_long_tests"
    report.write_text(
        f'<testsuites><testcase classname="{name}" name="slow_one[a]" time="0.5"/>'
        f'<testcase classname="{name}" name="slow_one[b]" time="0.2"/>'
        f'<testcase classname="{name}.Group" name="quick" time="0.1"/></testsuites>'
    )
    assert long_tests.measured(report) == {"tests/support/test_long_tests.py::slow_one"}
