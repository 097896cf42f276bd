"""Feeds inputs to a target in this process, a child of the one that asked for it, and writes down what it finds."""

from __future__ import annotations

import gc
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tests.fuzz.mutation import Mutator
from tests.fuzz.target import GROWTH_LIMIT, Failure, Figures, cpu_limit_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from mmap import mmap

    from tests.fuzz.target import Target

ROOT = str(Path(__file__).parents[2])
NOT_THE_PRODUCT = (os.path.join(ROOT, "tests"), os.path.join(ROOT, ".venv"))
CHECKED_EVERY = 1000
"""Inputs between two looks for descriptors and processes that were left."""
RETRIES = 3
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


class Feeder:
    """Feeds the inputs `first` … to one target. `report` gets each failure, one for each mark."""

    def __init__(self, target: Target, seed: int, report: Callable[[Failure], None], kept: Path) -> None:
        self._target = target
        self._seed = seed
        self._report = report
        self._kept = kept
        self._parent = os.getppid()
        self._mutator = Mutator(target.seeds())
        self._seen: set[str] = set()

    def feed(self, first: int, count: int, progress: mmap, folder: Path) -> Figures:
        """Feeds so many inputs. Writes the number of each into `progress` before."""
        with self._target.open(folder) as take:
            for seed in self._mutator.seeds:  # what is imported or made once is no growth
                _ignoring_faults(take, seed.text)
            before = _left_open()
            size = _peak()
            largest = size
            began = time.process_time()
            for number in range(first, first + count):
                progress[:8] = number.to_bytes(8, "little")
                data = self._mutator.input(self._seed, number)
                self._take(take, number, data)
                if (peak := _peak()) > largest + GROWTH_LIMIT:
                    self._found(number, data, "growth", f"over {GROWTH_LIMIT >> 20} MB", f"{(peak - size) >> 20} MB")
                    largest = peak
                if number % CHECKED_EVERY == 0 or number == first + count - 1:
                    before = self._check_left(number, data, before)
            return Figures(count, time.process_time() - began, _peak() - size)

    def _take(self, take: Callable[[bytes], None], number: int, data: bytes) -> None:
        began = time.process_time()
        try:
            take(data)
        except BaseException as error:
            self._raised(number, data, error)
            return
        limit_s = cpu_limit_s(len(data))
        if (spent_s := time.process_time() - began) > limit_s:
            for _ in range(RETRIES):  # the machine may have been busy, or something was imported
                began = time.process_time()
                take(data)
                spent_s = min(spent_s, time.process_time() - began)
            if spent_s > limit_s:
                self._found(number, data, "slow", "processor time", f"{spent_s:.2f} s for {len(data)} bytes")

    def _raised(self, number: int, data: bytes, error: BaseException) -> None:
        self._found(number, data, "traceback", mark_of(error), "".join(traceback.format_exception(error)))

    def _check_left(self, number: int, data: bytes, before: tuple[int, bool]) -> tuple[int, bool]:
        if os.getppid() != self._parent:
            sys.exit()  # nobody asks for the rest
        now = _left_open()
        if now[0] > before[0]:
            why = f"{now[0] - before[0]} descriptors, by this input or one of {CHECKED_EVERY} before it"
            self._found(number, data, "leak", "descriptors", why)
        if now[1] and not before[1]:
            self._found(number, data, "leak", "processes", f"by this input or one of {CHECKED_EVERY} before it")
        return now

    def _found(self, number: int, data: bytes, kind: str, mark: str, detail: str) -> None:
        if mark in self._seen:
            return
        self._seen.add(mark)
        self._report(failure(self._target.name, self._seed, number, data, kind, mark, detail, self._kept))


@contextmanager
def workplace() -> Iterator[Path]:
    """An empty folder for a target: in memory, if the system has such a place."""
    quick = "/dev/shm"
    place = quick if os.access(quick, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(prefix="zot-fuzz-", dir=place, ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


def failure(target: str, seed: int, number: int, data: bytes, kind: str, mark: str, detail: str, kept: Path) -> Failure:
    """A failure, with its input in a file of the folder `kept`."""
    kept.mkdir(parents=True, exist_ok=True)
    file = kept / f"{target}-{seed}-{number}"
    file.write_bytes(data)
    return Failure(target, seed, number, kind, mark, detail, str(file))


def mark_of(error: BaseException) -> str:
    """The type of an error, and the function of the product that raised it or called what raised it; else that of the
    target."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(ROOT)]
    ours = [frame for frame in frames if not frame.filename.startswith(NOT_THE_PRODUCT)]
    last = (ours or frames)[-1]
    return f"{type(error).__name__} in {os.path.relpath(last.filename, ROOT)}::{last.name}"


def _ignoring_faults(take: Callable[[bytes], None], data: bytes) -> None:
    try:
        take(data)
    except Exception:  # the run comes by this input again, and reports it
        pass


def _peak() -> int:
    """The largest size of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * MAXRSS_UNIT


def _left_open() -> tuple[int, bool]:
    """The number of descriptors, and whether there is a child."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return len(os.listdir("/dev/fd")), False
    return len(os.listdir("/dev/fd")), True


def serve(
    target: Target, seed: int, first: int, count: int, progress: mmap, out: int, kept: Path, folder: Path
) -> None:
    """The whole life of a child that feeds a target. Writes each failure as a line, and at last the figures."""

    def say(struct: Any) -> None:
        os.write(out, msgspec.json.encode(struct) + b"\n")

    warnings.simplefilter("error")
    gc.collect()
    gc.freeze()
    say(Feeder(target, seed, say, kept).feed(first, count, progress, folder))
