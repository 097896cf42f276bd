"""The crew finds and names the failure of an input, and keeps the input, so that it can be fed again."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.fuzz import __main__ as command
from tests.fuzz import target
from tests.fuzz.crew import run
from tests.fuzz.mutation import Mutator
from tests.fuzz.target import Target
from tests.fuzz.targets import TARGETS
from wire.manifest import parse_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.fuzz.crew import Outcome

BAIT = b"!"
SEEDS = [b'{"a":1}\n', b"plain\n"]
HELD: list[Any] = []


def toy(name: str, harm: Callable[[], object]) -> Target:
    """A target that does harm when an input contains `BAIT`."""

    @contextmanager
    def opened(_folder: Path) -> Iterator[Callable[[bytes], None]]:
        yield lambda data: harm() if BAIT in data else None

    return Target(name, lambda: SEEDS, opened, 1000)


def outcome_of(planted: Target, folder: Path, **options: Any) -> Outcome:
    (outcome,) = run([planted], seed=1, inputs={planted.name: 2000}, kept=folder, **options)
    return outcome


def raises() -> None:
    parse_manifest(None)  # type: ignore[arg-type]


def spins() -> None:
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harm", "kind", "mark"),
    [
        (raises, "traceback", "TypeError in wire/manifest.py::parse_manifest"),
        (sys.exit, "traceback", "SystemExit in tests/fuzz/test_crew.py::<lambda>"),
        (spins, "slow", "processor time"),
        (lambda: HELD or HELD.append(b"x" * (160 << 20)), "growth", "over 50 MB"),
        (lambda: os.dup(0), "leak", "descriptors"),
        (lambda: os.fork() or os._exit(0), "leak", "processes"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "crash", "crash"),
    ],
)
def test_harm_is_found_and_its_input_kept(harm, kind: str, mark: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(target, "CPU_CONSTANT_S", 0.02 if kind == "slow" else 5.0)
    planted = toy("planted", harm)
    outcome = outcome_of(planted, tmp_path)
    (found,) = outcome.failures
    assert (found.kind, found.mark, outcome.inputs) == (kind, mark, 2000)
    data = Path(found.file).read_bytes()
    assert data == Mutator(SEEDS).input(found.seed, found.number)
    assert BAIT in data or kind == "leak"
    assert f"(seed 1, input {found.number})\n  python -m tests.fuzz planted --input {found.file}" in str(found)


@pytest.mark.slow
def test_a_hang_is_ended_and_the_run_goes_on_behind_it(tmp_path: Path) -> None:
    planted = toy("planted", signal.pause)
    outcome = outcome_of(planted, tmp_path, hang_s=1.0)
    assert [failure.kind for failure in outcome.failures] == ["hang"]
    assert BAIT in Path(outcome.failures[0].file).read_bytes()
    assert outcome.inputs == 2000


def test_a_sound_target_has_no_failure(tmp_path: Path) -> None:
    outcome = outcome_of(toy("sound", lambda: None), tmp_path)
    assert (outcome.failures, outcome.inputs) == ([], 2000)
    assert os.listdir(tmp_path) == []


def test_a_target_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    @contextmanager
    def opened(_folder: Path) -> Iterator[Callable[[bytes], None]]:
        raise OSError("no room")
        yield  # a generator

    with pytest.raises(RuntimeError, match="no room"):
        outcome_of(Target("closed", lambda: SEEDS, opened, 1), tmp_path)


def test_a_kept_input_is_fed_again(tmp_path: Path, monkeypatch, capfd) -> None:
    planted = toy("planted", raises)
    monkeypatch.setitem(TARGETS, "planted", planted)
    (found,) = outcome_of(planted, tmp_path).failures
    monkeypatch.setattr(sys, "argv", ["fuzz", "planted", "--input", found.file])
    with pytest.raises(TypeError):
        command.main()
    assert capfd.readouterr().out == f"{found.mark}\n"
    Path(found.file).write_bytes(b"harmless")
    assert command.main() == 0


def test_the_command_prints_a_row_for_each_target(tmp_path: Path, monkeypatch, capfd) -> None:
    monkeypatch.setitem(TARGETS, "planted", toy("planted", raises))
    words = ["planted", "durations", "--inputs", "2000", "--jobs", "2", "--kept", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["fuzz", *words])
    assert command.main() == 1
    said = capfd.readouterr()
    rows = {row.split()[0]: row.split()[1:3] for row in said.out.splitlines() if row}
    assert (rows["planted"], rows["durations"]) == (["2000", "1"], ["2000", "0"])
    assert "TypeError in wire/manifest.py::parse_manifest" in said.err
