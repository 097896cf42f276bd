"""How fast the host reads frames: small ones of many extensions, large ones of one; and the memory that it takes."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import orjson

from benchmarks.report import Report, Table, parse
from benchmarks.workshop import CHILDREN, PROGRAMS, Workshop, stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.supervisor import Supervisor

KIB, MIB = 1024, 1024 * 1024
SMALL = 128
LARGEST = 6 * MIB
"""Bytes of a frame with its LF; the longest that an extension may send."""


class Effort(NamedTuple):
    rounds: int
    seconds: float
    """Seconds of one measurement."""
    senders: tuple[int, ...]
    sizes: tuple[int, ...]


FULL = Effort(7, 0.7, (1, 10, 100), (64 * KIB, 256 * KIB, MIB, 4 * MIB, LARGEST))
QUICK = Effort(1, 0.15, (1, 3), (64 * KIB, MIB))


class Sample(NamedTuple):
    frames: int
    bytes: int
    seconds: float
    cpu_s: float

    @property
    def frames_per_s(self) -> float:
        return self.frames / self.seconds

    @property
    def mb_per_s(self) -> float:
        return self.bytes / self.seconds / 1e6

    @property
    def ns_per_byte(self) -> float:
        """Processor time of the host for each byte."""
        return self.cpu_s / self.bytes * 1e9


class Supervised:
    """The product: the loop reads notes of extensions, decodes and counts them, and drops most (there are too many)."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    def measure(self, seconds: float) -> Sample:
        loop = self._supervisor.loop
        frames, received = self._counts()
        start, cpu = loop.clock(), time.process_time()
        loop.run_until(lambda: False, start + seconds)
        taken, used = loop.clock() - start, time.process_time() - cpu
        now_frames, now_received = self._counts()
        return Sample(now_frames - frames, now_received - received, taken, used)

    def _counts(self) -> tuple[int, int]:
        accounts = [extension.account for extension in self._supervisor.extensions]
        return sum(account.frames_in for account in accounts), sum(account.bytes_in for account in accounts)

    def close(self) -> None:
        stop(self._supervisor)


class Bare:
    """The peer: the same programs on the same pipes, `read`, `split` and `orjson.loads` in a `selectors` loop."""

    def __init__(self, argv: Sequence[str], count: int, *, read_size: int) -> None:
        self._read_size = read_size
        self._selector = selectors.DefaultSelector()
        self._children = []
        for _ in range(count):
            child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
            assert child.stdout is not None
            os.set_blocking(child.stdout.fileno(), False)
            if read_size > 64 * KIB:
                _widen(child.stdout.fileno())
            self._selector.register(child.stdout, selectors.EVENT_READ, bytearray())
            self._children.append(child)

    def measure(self, seconds: float) -> Sample:
        frames = received = 0
        loads = orjson.loads
        start, cpu = time.monotonic(), time.process_time()
        end = start + seconds
        while time.monotonic() < end:
            for key, _ in self._selector.select(end - time.monotonic()):
                data = os.read(key.fd, self._read_size)
                received += len(data)
                tail: bytearray = key.data
                lines: list[bytes | bytearray] = data.split(b"\n")  # type: ignore[assignment]
                last = lines.pop()
                if lines and tail:
                    lines[0] = tail + lines[0]
                    tail.clear()
                for line in lines:
                    loads(line)
                frames += len(lines)
                tail += last
        return Sample(frames, received, time.monotonic() - start, time.process_time() - cpu)

    def close(self) -> None:
        self._selector.close()
        for child in self._children:
            assert child.stdin is not None
            child.stdin.close()
        for child in self._children:
            child.wait()
            assert child.stdout is not None
            child.stdout.close()


class Bench:
    def __init__(self, report: Report, workshop: Workshop, effort: Effort) -> None:
        self._report = report
        self._shop = workshop
        self._effort = effort
        if not workshop.has_compiler:
            report.note("no C compiler: the senders are written in Python")

    def run(self) -> None:
        self._small_frames()
        self._large_frames()

    def _small_frames(self) -> None:
        columns = ("senders", "zot frames/s", "bare frames/s", "zot / bare", "zot MB/s", "zot peak MB", "bare peak MB")
        table = Table(f"notify frames of {SMALL} bytes, as fast as they can be read", columns)
        for count in self._effort.senders:
            argv = self._small_sender()
            zot, bare, peaks = self._measure(argv, count, read_size=64 * KIB)
            ratio = median(ours.frames_per_s / peer.frames_per_s for ours, peer in zip(zot, bare, strict=True))
            speeds = [int(median(sample.frames_per_s for sample in samples)) for samples in (zot, bare)]
            table.add(f"{count:>3}", *speeds, ratio, median(sample.mb_per_s for sample in zot), *peaks)
        self._report.show(table)

    def _large_frames(self) -> None:
        columns = (
            "size",
            "zot MB/s",
            "bare MB/s",
            "zot / bare",
            "zot ns/byte",
            "bare ns/byte",
            "zot peak MB",
            "bare peak MB",
        )
        table = Table("large frames of one sender; processor time of the host for each byte", columns)
        for size in self._effort.sizes:
            argv = self._shop.python(PROGRAMS / "flood.py", str(size))
            zot, bare, peaks = self._measure(argv, 1, read_size=MIB)
            ratio = median(ours.mb_per_s / peer.mb_per_s for ours, peer in zip(zot, bare, strict=True))
            speeds = [median(sample.mb_per_s for sample in samples) for samples in (zot, bare)]
            costs = [median(sample.ns_per_byte for sample in samples) for samples in (zot, bare)]
            table.add(_size(size), *speeds, ratio, *costs, *peaks)
        self._report.show(table)

    def _small_sender(self) -> list[str]:
        if self._shop.has_compiler:
            return [self._shop.compiled(CHILDREN / "flood_notify.c")]
        return self._shop.python(PROGRAMS / "flood.py", str(SMALL))

    def _measure(
        self, argv: Sequence[str], count: int, *, read_size: int
    ) -> tuple[list[Sample], list[Sample], list[float]]:
        """Measures zot and the peer in turns. Meanwhile the senders of the other side stand still: their pipes are
        full."""
        self._report.progress(f"{count} of {' '.join(Path(word).name for word in argv)}")
        found = [self._shop.extension(f"flood{i}", argv, i) for i in range(count)]
        zot = Supervised(self._shop.started(found))
        bare = Bare(argv, count, read_size=read_size)
        samples: tuple[list[Sample], list[Sample]] = ([], [])
        peaks = [0.0, 0.0]
        try:
            for number in range(self._effort.rounds + 1):
                for i, measure in enumerate((zot.measure, bare.measure)):
                    _forget_peak()
                    sample = measure(self._effort.seconds)
                    peaks[i] = max(peaks[i], _peak_mb())
                    if number > 0:
                        samples[i].append(sample)
        finally:
            bare.close()
            zot.close()
        return *samples, peaks


def _size(size: int) -> str:
    return f"{round(size / MIB)} MiB" if size >= MIB - 1 else f"{size // KIB} KiB"


def _widen(fd: int) -> None:
    import fcntl

    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, MIB)


def _forget_peak() -> None:
    """Resets the kernel's peak of our memory."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_mb() -> float:
    """Returns the peak of our resident memory in MB since `_forget_peak`; 0 without /proc."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1000
    return 0.0


def main(argv: list[str] | None = None) -> None:
    options = parse(Path(__file__).stem, __doc__ or "", argv)
    report = Report(Path(__file__).stem, options)
    with Workshop() as workshop:
        Bench(report, workshop, QUICK if options.quick else FULL).run()
    report.finish()


if __name__ == "__main__":
    main()
