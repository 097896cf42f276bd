"""A host tells what no host of ours would: no command ends, and no terminal gets its signs."""

from __future__ import annotations

import pytest

from cli.doctor.host_checks import _skipped
from cli.hosts.find import SurveyedHost
from cli.hosts.ps import _cells
from cli.hosts.status_lines import moment
from tests.support.control_peer import extension_stats, host_stats
from wire.control import HostInfoReply, SkippedExtension
from wire.stats import Stats

EVIL = "\x1b[31mred\x1b]0;title\x07\x9b31m\u202ebad\nzot: forged"


@pytest.mark.parametrize("seconds", [1e300, -1e300, 1e18, -1e15, float("inf")])
def test_a_time_of_no_era_is_a_question_mark(seconds):
    assert moment(seconds) == "?"


def test_a_place_that_no_path_can_be_is_told_as_it_is():
    skipped = (SkippedExtension("x", "/a\0b", "broken", is_waiting=False),)
    info = HostInfoReply("1", 7, "host", "1", "/", 0.0, (), skipped)
    (check,) = _skipped(info, {"/a"})
    assert "x is not started: broken" in check.message


def test_no_sign_of_a_host_reaches_a_terminal():
    stats = Stats(0.0, host_stats(cwd=EVIL, task=EVIL), {"a": extension_stats(state=EVIL)})
    assert all(map(str.isprintable, _cells(SurveyedHost(7, None, None, ""), stats)))
