"""Recordings for `zot report`, of both kinds; and prompts on stdin."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING
from zlib import crc32

from cli.report.input.recorded_run import InputError
from cli.report.input.source import read_recording
from cli.report.run.page import render
from cli.run.prompt import PromptError, StdinKind, StdinUse, join, plan_prompt
from cli.run.stdin import StdinReader
from tests.fuzz.target import Target, with_file
from tests.support.recorded_events import RESULT, RUN
from tests.support.recorded_stats import hostile_lines, recorded
from wire import stats
from wire.stats import Run, Stats
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DRAWN_ONE_IN = 8
"""Of so many recordings that are read, one is drawn: a page takes milliseconds."""


def some_recordings() -> list[bytes]:
    """A stats file of each kind of line, and an event stream."""
    lines = recorded(2, 4)
    samples = [line for line in lines if isinstance(line, Stats)]
    changes = [
        change for before, after in pairwise(samples) if (change := stats.find_change(before, after, 1.0)) is not None
    ]
    run = Run(samples[0].time, "s", "replay", "m", 1, 2, 3, 4, 5, 0.5, "ok", 0, "")
    changing = [samples[0], *changes, run, samples[-1]]
    events = [*RUN, RESULT, {"type": "done"}]
    return [
        b"".join(map(stats.encode, lines)),
        b"".join(map(stats.encode, changing)),
        b"".join(map(stats.encode, list(hostile_lines())[-20:])),
        "".join(json.dumps(event) + "\n" for event in events).encode(),
    ]


@contextmanager
def reports(folder: Path) -> Iterator[Callable[[bytes], None]]:
    """A recording is refused with a line, or its page is drawn."""
    file = folder / "recording"

    def take(data: bytes) -> None:
        file.write_bytes(data)
        try:
            run = read_recording(str(file))
        except InputError:
            return
        if crc32(data) % DRAWN_ONE_IN == 0:
            render(run, source_name="x", version="1").encode()

    yield take


@with_file("stdin")
def prompts(file: Path) -> None:
    """Bytes that are piped to a run become a prompt that JSON can hold."""
    fd = os.open(file, os.O_RDONLY)
    try:
        piped = StdinReader(None, fd=fd).read(StdinUse.WANTED) or b""
        text = join(plan_prompt((), StdinKind.STREAM, no_stdin=False), piped.decode("utf-8", "replace"))
        valid_text(text).encode()
    except PromptError:
        pass
    finally:
        os.close(fd)


TARGETS = (
    Target("reports", some_recordings, reports, 70, 0.2),
    Target("prompts", lambda: ["Fix the näme.\n\n{}\n".encode(), b"/help\n"], prompts, 500),
)
