"""`P` profiles the selected extension in a child."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cli.top import profile_key
from cli.top.model import Mode, TopView, press
from cli.top.profile_key import TopProfiling
from cli.top.rows import TopRow
from supervisor.loop.loop import Loop
from tests.support.busy_stats import stats_of
from tests.support.control_peer import extension_stats
from tests.support.patience import PATIENCE_S
from tests.support.profile_targets import SPIN, needs_py_spy, python, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.mark.parametrize("mode", [Mode.TABLE, Mode.DETAILS, Mode.LOGS])
def test_the_key_wants_a_profile_of_the_selected_extension(mode: Mode):
    view = press(TopView(mode=mode, selected="b"), "P", rows=[TopRow("a"), TopRow("b")], page=10)
    assert (view.profile, view.mode) == ("b", mode)
    assert press(TopView(), "P", rows=[], page=10).profile == ""


@needs_py_spy
def test_the_file_and_the_hottest_function_are_told(loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(profile_key, "SECONDS", 1)
    monkeypatch.setenv("ZOT_HOME", str(tmp_path))
    said: list[str] = []
    with running(python(SPIN)) as target:
        made = TopProfiling(loop, said.append)
        made.begin("busy", stats_of(busy=extension_stats(pids=(target.pid,))))
        assert said == ["busy is being profiled for 1 s"]
        assert loop.run_until(lambda: len(said) == 2, loop.clock() + PATIENCE_S)
    (file,) = (tmp_path / "runs").iterdir()
    assert said[1].startswith("busy: ")
    assert " % in count_the_stars" in said[1]
    assert said[1].endswith(f"; {file}")


def test_an_extension_that_cannot_be_profiled_is_told(loop: Loop):
    said: list[str] = []
    made = TopProfiling(loop, said.append)
    made.begin("gone", stats_of())
    made.begin("asleep", stats_of(asleep=extension_stats(state="asleep", pids=())))
    made.stop()
    assert said == [
        "gone has gone",
        "asleep has no process now, it is asleep; a call of one of its tools wakes it",
    ]
