from __future__ import annotations

import fcntl
import os

from hypothesis import given
from hypothesis import strategies as st

from supervisor.home.config import Keep
from supervisor.traces import sweep as sweeping
from supervisor.traces.places import BLACK_BOX, PROFILE, TRACE, beside, extension_of, id_of, new_id
from supervisor.traces.sweep import DAY_S, MARK, MB, KeptFile, choose_old, sweep

NOW = 1_800_000_000.0
ages = st.floats(0, 60 * DAY_S)
sizes = st.integers(0, 120 * MB)
files = st.lists(st.tuples(st.integers(1, 6), st.sampled_from([TRACE, ".guard.1.box.jsonl"]), ages, sizes), max_size=20)


def kept(found) -> list[KeptFile]:
    return [KeptFile(f"20261128-191102-{pid}{kind}", NOW - age, size) for pid, kind, age, size in found]


@given(files)
def test_what_stays_is_young_and_fits_and_runs_go_whole(found):
    every = kept(found)
    removed = set(choose_old(every, Keep(), NOW))
    stay = [file for file in every if file.name not in removed]
    assert sum(file.size for file in stay) <= 200 * MB or len({id_of(file.name) for file in stay}) == 1  # the newest
    assert {id_of(file.name) for file in stay}.isdisjoint(id_of(name) for name in removed)
    for run in {id_of(file.name) for file in stay}:
        assert NOW - max(file.changed_at for file in every if id_of(file.name) == run) <= 30 * DAY_S


@given(files)
def test_nothing_goes_that_is_young_while_all_fit(found):
    every = kept((pid, kind, age / 3, size / 100) for pid, kind, age, size in found)
    assert choose_old(every, Keep(), NOW) == []


@given(files)
def test_no_newer_run_goes_before_an_older_one(found):
    every = kept(found)
    removed = set(choose_old(every, Keep(days=1e6), NOW))
    newest: dict[str, float] = {}
    for file in every:
        newest[id_of(file.name)] = max(newest.get(id_of(file.name), 0.0), file.changed_at)
    gone = [at for run, at in newest.items() if any(name.startswith(run) for name in removed)]
    stay = [at for run, at in newest.items() if not any(name.startswith(run) for name in removed)]
    assert not gone or not stay or max(gone) <= min(stay)


def test_a_sweep_leaves_what_is_not_of_a_run_and_comes_once_an_hour(tmp_path):
    names = [f"{new_id(0.0, 1)}{TRACE}", f"{new_id(0.0, 1)}.a.b.1{BLACK_BOX}", "notes.txt", "x.jsonl"]
    for name in names:
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (1.0, 1.0))
    sweep(tmp_path, Keep())
    assert sorted(path.name for path in tmp_path.iterdir()) == [MARK, "notes.txt", "x.jsonl"]
    (tmp_path / names[0]).write_text("x")
    os.utime(tmp_path / names[0], (1.0, 1.0))
    sweep(tmp_path, Keep())
    assert (tmp_path / names[0]).exists()


def test_the_names_say_what_a_file_is(tmp_path):
    trace = tmp_path / f"{new_id(0.0, 4711)}{TRACE}"
    assert trace.name == "19700101-000000-4711.jsonl"
    box, profile = beside(trace, "my.guard", 2, BLACK_BOX), beside(trace, "my.guard", 1, PROFILE)
    assert {id_of(path.name) for path in (trace, box, profile)} == {"19700101-000000-4711"}
    assert (extension_of(box.name, BLACK_BOX), extension_of(profile.name, PROFILE)) == ("my.guard", "my.guard")
    assert (extension_of(box.name, PROFILE), extension_of(trace.name, BLACK_BOX), id_of("a.jsonl")) == ("", "", "")


def test_the_trace_of_a_run_that_goes_on_stays(tmp_path):
    trace = tmp_path / f"{new_id(0.0, 1)}{TRACE}"
    trace.write_text("x")
    os.utime(trace, (1.0, 1.0))
    with trace.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        sweep(tmp_path, Keep())
        assert trace.exists()
    (tmp_path / MARK).unlink()
    sweep(tmp_path, Keep())
    assert not trace.exists()


def test_one_sweep_removes_a_bounded_number_the_oldest_first_and_the_next_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeping, "MOST", 3)
    names = [f"{new_id(float(number), 1)}{TRACE}" for number in range(5)]
    for number, name in enumerate(names):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (float(number), float(number)))
    sweep(tmp_path, Keep())
    assert sorted(path.name for path in tmp_path.iterdir()) == names[3:]
    sweep(tmp_path, Keep())
    assert [path.name for path in tmp_path.iterdir()] == [MARK]


def test_a_mark_in_the_future_does_not_stop_the_sweep(tmp_path):
    (tmp_path / MARK).touch()
    os.utime(tmp_path / MARK, (4e9, 4e9))
    trace = tmp_path / f"{new_id(0.0, 1)}{TRACE}"
    trace.write_text("x")
    os.utime(trace, (1.0, 1.0))
    sweep(tmp_path, Keep())
    assert not trace.exists()
