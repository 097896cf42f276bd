"""Content of a stats file: what changed, parts of bounded size, and whatever was there before."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from supervisor.accounting.account import Account
from supervisor.home.safe_files import parts
from supervisor.loop.loop import Loop, Timestamp
from supervisor.monitoring import rotated_file, stats_file
from supervisor.monitoring.rotated_file import PARTS, StatsFileError
from supervisor.monitoring.stats_file import FULL_S, MARKS_LIMIT, YOUNG_S, StatsFile
from tests.support.recorded_stats import extension_stats, sample
from wire import stats

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wire.stats import ExtensionStats

INTERVAL_S = 10.0


class Recorded:
    """A stats file whose clock and figures the test sets."""

    def __init__(self, path: Path, pid: int = 900) -> None:
        self.at = 0.0
        self.extensions: dict[str, ExtensionStats] = {"a": extension_stats()}
        self.told: list[str] = []
        self.account = Account()
        self.loop = Loop(lambda: self.at)
        try:
            self.file = StatsFile(
                self.loop,
                lambda: sample(self.at, dict(self.extensions), pid=pid),
                stats_file=path,
                interval_s=INTERVAL_S,
                metrics_file=None,
                on_error=self.told.append,
                extensions=[SimpleNamespace(name="a", account=self.account)],  # type: ignore[list-item]
            )
        finally:
            self.loop.close()

    def sample(self, at: float, **figures: object) -> None:
        self.at = at
        if figures:
            self.extensions["a"] = extension_stats(**figures)
        self.file.sampled()


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that put the next one off by nothing, however slow this machine is."""
    monkeypatch.setattr(stats_file, "SHARE", 1e9)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "host.stats"


@pytest.fixture
def recorded(path: Path) -> Iterator[Recorded]:
    recorded = Recorded(path)
    yield recorded
    recorded.file.close()
    assert recorded.told == []


def lines(path: Path) -> list[stats.StatsLine]:
    return [stats.decode(line) for line in path.read_bytes().splitlines()]


def kinds(path: Path) -> list[str]:
    return [type(line).__name__ for line in lines(path)]


def test_a_file_begins_with_all_figures_and_goes_on_with_changes(recorded: Recorded, path: Path):
    recorded.sample(YOUNG_S + 1, cpu_s=1.0)
    recorded.sample(YOUNG_S + 2, cpu_s=2.0)  # too soon after it
    recorded.sample(YOUNG_S + 12, cpu_s=3.0)
    assert kinds(path) == ["Stats", "Change", "Change"]
    last = lines(path)[-1]
    assert isinstance(last, stats.Change)
    assert last.extensions == {"a": {"cpu_s": 3.0}}
    assert last.over_s == 11.0


def test_nothing_is_written_while_nothing_changes_but_all_figures_now_and_then(recorded: Recorded, path: Path):
    for at in range(1, int(FULL_S) + 1, 5):
        recorded.sample(float(at))
    assert kinds(path) == ["Stats"]
    recorded.sample(FULL_S + INTERVAL_S)
    assert kinds(path) == ["Stats", "Stats"]


def test_a_burst_after_a_quiet_time_is_not_spread_over_it(recorded: Recorded, path: Path):
    for at in (100.0, 200.0):
        recorded.sample(at)
    recorded.sample(210.0, cpu_s=5.0)
    last = lines(path)[-1]
    assert isinstance(last, stats.Change)
    assert last.over_s == 10.0


def test_an_exit_is_a_point_with_the_memory_before_it_and_the_next_samples_are_too(recorded: Recorded, path: Path):
    recorded.sample(100.0, rss_bytes=50)
    recorded.account.sampled(105.0, 0.0, 80, 1)
    recorded.sample(105.0, rss_bytes=80)  # too soon for a line
    recorded.account.exited("exit 1", cpu_s=0.0, rss_peak=70)
    recorded.sample(106.0, rss_bytes=0, state="backoff")
    recorded.sample(106.25, rss_bytes=0, state="backoff")
    recorded.sample(106.5, rss_bytes=20)
    told = [
        (line.time, line.extensions["a"].get("rss_bytes")) for line in lines(path) if isinstance(line, stats.Change)
    ]
    began = lines(path)[0].time
    assert [(time - began, rss) for time, rss in told] == [(100, 50), (106, 80), (106.25, 0), (106.5, 20)]


def test_samples_after_a_start_are_all_written(recorded: Recorded, path: Path):
    recorded.sample(100.0, cpu_s=1.0)
    recorded.file.notice(SimpleNamespace(name="a"), "restarted", "")  # type: ignore[arg-type]
    recorded.sample(100.5, cpu_s=2.0)
    recorded.sample(101.0, cpu_s=3.0)
    assert kinds(path) == ["Stats", "Change", "Mark", "Change", "Change"]


def test_every_sample_is_written_at_the_start(recorded: Recorded, path: Path):
    for number in range(1, 5):
        recorded.sample(number / 4, cpu_s=float(number))
    assert len(lines(path)) == 5


def test_the_changes_and_the_last_line_agree(recorded: Recorded, path: Path):
    for number in range(1, 30):
        recorded.sample(number * 11.0, cpu_s=float(number // 3), calls=number // 2, latency_ms=((1.0, number),))
    recorded.file.close()
    first, *later, last = lines(path)
    assert isinstance(first, stats.Stats)
    for line in later:
        assert isinstance(line, stats.Change)
        first = stats.apply_change(first, line)
    assert isinstance(last, stats.Stats)
    assert first.extensions["a"].calls == last.extensions["a"].calls == 14
    assert first.extensions["a"].latency_ms == last.extensions["a"].latency_ms


def test_a_new_host_appends_to_what_an_older_one_wrote(path: Path):
    for pid in (1, 2):
        Recorded(path, pid).file.close()
    assert [line.host.pid for line in lines(path) if isinstance(line, stats.Stats)] == [1, 1, 2, 2]


def test_a_line_that_a_killed_host_left_unfinished_spoils_no_other(path: Path):
    Recorded(path).file.close()
    with path.open("ab") as file:
        file.write(b'{"type":"change","time":17')
    Recorded(path, 2).file.close()
    before, torn, *after = path.read_bytes().split(b"\n", 3)[1:]
    assert torn == b'{"type":"change","time":17'
    assert isinstance(stats.decode(before), stats.Stats)
    assert isinstance(stats.decode(after[0].splitlines()[0]), stats.Stats)


@pytest.mark.parametrize("content", [b"my thesis\n", b"[1]\n", b"\x00" * 100])
def test_a_file_of_something_else_is_left_alone(path: Path, content: bytes):
    path.write_bytes(content)
    with pytest.raises(StatsFileError, match=r"it holds something else already; choose another file"):
        Recorded(path)
    assert path.read_bytes() == content


def test_two_hosts_do_not_write_one_file(recorded: Recorded, path: Path):
    with pytest.raises(StatsFileError, match="another host is writing it"):
        Recorded(path, 2)
    assert kinds(path) == ["Stats"]
    recorded.sample(11.0, cpu_s=1.0)
    assert kinds(path) == ["Stats", "Change"]


def test_parts_are_bounded_and_each_begins_with_all_figures(
    recorded: Recorded, path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(rotated_file, "PART_BYTES", 3000)
    run = stats.Run(1.0, "s", "replay", "m", 1, 2, 3, 0, 0, 0.5)
    recorded.file.run(run)
    for number in range(1, 300):
        recorded.sample(number * 10.5, cpu_s=float(number), calls=number)
    assert sorted(found.name for found in path.parent.iterdir()) == sorted(part.name for part in parts(path, PARTS))
    assert len(parts(path, PARTS)) == PARTS
    for part in parts(path, PARTS):
        assert part.stat().st_size <= 3000
        assert kinds(part)[:2] == ["Stats", "Run"], "a reader can begin here, and knows the model"
    calls = [
        line.extensions["a"]["calls"]
        for part in reversed(parts(path, PARTS))
        for line in lines(part)
        if isinstance(line, stats.Change)
    ]
    assert calls == list(range(calls[0], 300)), "nothing is lost between two parts"
    recorded.file.close()


def test_calls_of_a_busy_host_are_bounded_in_each_part(recorded: Recorded, path: Path):
    for _ in range(MARKS_LIMIT + 5):
        recorded.file.mark("intercept", "tool_call", "", Timestamp.now())
    marks = [line for line in lines(path) if isinstance(line, stats.Mark)]
    assert len(marks) == MARKS_LIMIT
    assert marks[-1].kind == "warning"


def test_a_folder_that_no_new_file_fits_in_ends_the_recording_with_a_line(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rotated_file, "PART_BYTES", 1500)
    recorded = Recorded(path)
    path.with_name("host.stats.1").mkdir()
    for number in range(1, 30):
        recorded.sample(number * 10.5, cpu_s=float(number), calls=number)
    recorded.file.close()
    (told,) = recorded.told
    assert told.startswith(f"cannot write {path}: ")
    assert told.endswith("; nothing more is written to it")
