"""A kill storm at a host: each call of a hundred sessions ends once, with its own session's secret; nothing is left."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid

import pytest

from benchmarks.sharing.storm_book import CROSSED, MUTE, TWICE, Book
from tests.support.marked_processes import MARK, marked
from tests.support.warm_start import ROOT

CALLS = 100_000


@pytest.mark.slow
@pytest.mark.timeout(550)
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes by /proc")
def test_each_call_ends_once_and_with_its_own_secret():
    mark = uuid.uuid4().hex
    argv = [sys.executable, "-m", "benchmarks.sharing", "--part", "storm", "--calls", str(CALLS)]
    done = subprocess.run(argv, cwd=ROOT, env={**os.environ, MARK: mark}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASS") == 2
    assert marked(mark) == []


def test_the_book_finds_each_fault_of_a_call():
    book = Book(5, seed=1)
    session, secret = book.session()
    assert session not in secret
    calls = [book.begin(secret) for _ in range(5)]
    assert not book.may_begin
    assert len({call.expected for call in calls}) == 5
    book.answer(calls[0], calls[0].expected)
    book.answer(None, calls[0].expected)
    book.answer(calls[1], calls[0].expected)
    book.fail(calls[2], "it died")
    book.fail(calls[3], "")
    book.fail(calls[4], f"it said {calls[0].expected}x")
    assert book.counts == {TWICE: 1, CROSSED: 2, MUTE: 1}
    assert (book.answered, book.failed) == (1, 1)
