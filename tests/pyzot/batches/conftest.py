"""Batches with a stand-in for `zot batch`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pyzot import AsyncBatch, Batch


def fake_program(behaviour="works"):
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name("fake_batch.py")), behaviour]


@pytest.fixture
def fake(tmp_path):
    """Starts a `Batch` of the fake. All are closed after the test."""
    made = []

    def begin(*prompts, behaviour="works", **more):
        more.setdefault("on_stderr", lambda _line: None)
        made.append(Batch(prompts, tmp_path / "runs", program=fake_program(behaviour), **more))
        return made[-1]

    yield begin
    for batch in made:
        batch.close()


@pytest.fixture
def fake_async(tmp_path):
    """Makes an `AsyncBatch` of the fake; the test closes it."""

    def begin(*prompts, behaviour="works", **more):
        more.setdefault("on_stderr", lambda _line: None)
        return AsyncBatch(prompts, tmp_path / "runs", program=fake_program(behaviour), **more)

    return begin
