"""A fixed number of faulty inputs of each kind. `make fuzz` feeds many more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fuzz.crew import run
from tests.fuzz.targets import TARGETS

if TYPE_CHECKING:
    from pathlib import Path

SEED = 1


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_of_this_kind_does_harm(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    (outcome,) = run([target], seed=SEED, inputs={name: target.in_suite}, kept=tmp_path)
    assert outcome.failures == [], "\n".join(map(str, outcome.failures))
    assert outcome.inputs == target.in_suite
