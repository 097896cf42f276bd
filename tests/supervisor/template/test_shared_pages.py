"""The memory of a template is prepared, and nothing else changes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from supervisor.template import shared_pages

FILL = """
import os, sys
from supervisor.template import shared_pages as pages
holes = [bytes(100) for _ in range(20000)]
del holes[::2]
before = sum(size * free for size, free in pages._free_blocks())
descriptors = set(os.listdir("/proc/self/fd"))
pages.fill_holes()
after = sum(size * free for size, free in pages._free_blocks())
assert set(os.listdir("/proc/self/fd")) == descriptors
print(before, after)
sys.stderr.write("heard")
"""
HUGE = """
import os
from supervisor.template import shared_pages as pages
kept = {number: str(number) for number in range(200000)}
pages.use_huge_pages()
if os.fork() == 0:
    kept[1] = "changed"
    os._exit(kept[2] != "2")
assert os.wait()[1] == 0
assert kept[1] == "1"
assert all(kept[number] == str(number) for number in kept)
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has templates")
def test_holes_between_objects_are_filled():
    done = run(FILL)
    before, after = map(int, done.stdout.split())
    assert before > 1_000_000
    assert after < before / 2
    assert done.stderr == "heard"


def test_the_objects_are_the_same_in_huge_pages():
    run(HUGE)


def test_an_allocator_without_such_statistics_has_no_holes(monkeypatch):
    monkeypatch.setattr(shared_pages, "_CLASS", shared_pages.re.compile(rb"nothing"))
    before = len(shared_pages._fillers)
    shared_pages.fill_holes()
    assert len(shared_pages._fillers) == before
