"""The score that follows from the end of a command and from its last line."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.batch.scoring.score_reader import DEPTH, VALUES_KEPT, score_of
from wire.batch.outcome import CommandEnd, Score

STATUSES = st.integers(-64, 255)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


def read(line: bytes | str, exit_status: int = 0, cut_short: str = "") -> Score:
    raw = line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass")
    return score_of(CommandEnd(exit_status, 1), raw, cut_short)


def is_written(score: Score) -> bool:
    """Whether the journal can keep it, and gives it back."""
    return msgspec.json.decode(msgspec.json.encode(score), type=Score) == score


@given(st.binary() | VALUES.map(json.dumps).map(str.encode), STATUSES, st.sampled_from(["", "timed out"]))
def test_any_line_gives_a_finite_value_or_a_reason(line: bytes, exit_status: int, cut_short: str) -> None:
    score = read(line.strip(), exit_status, cut_short)
    assert (score.value is None) == bool(score.reason)
    assert score.value is None or math.isfinite(score.value)
    assert is_written(score)


@given(st.floats(allow_nan=False, allow_infinity=False), STATUSES.filter(lambda code: 0 <= code < 125))
def test_a_number_is_the_score_whatever_the_exit_status_is(value: float, exit_status: int) -> None:
    assert read(repr(value), exit_status).value == value
    assert read(json.dumps({"score": value}), exit_status).value == value


@given(st.dictionaries(st.text().filter(lambda name: name != "score"), LEAVES.filter(lambda one: one == one)))
@example({"Infinity": None})
def test_the_other_members_are_kept(values: dict[str, Any]) -> None:
    line = json.dumps({**values, "score": 0.5}, ensure_ascii=False)
    if any(isinstance(one, float) and math.isinf(one) for one in values.values()):
        assert read(line).value is None
    elif len(line.encode("utf-8", "surrogatepass")) <= VALUES_KEPT and read(line).value is not None:
        assert read(line) == Score(0.5, values=values, command=CommandEnd(0, 1))


@pytest.mark.parametrize(
    ("line", "exit_status", "value"),
    [
        ("", 0, 1.0), ("", 1, 0.0), ("all tests passed", 0, 1.0), ("3 failed", 1, 0.0), ("85%", 0, 1.0),
        ("0.75", 1, 0.75), ("1", 0, 1.0), ("-2", 0, -2.0), (".5", 0, 0.5), ("1e-3", 0, 0.001), ("+1.", 0, 1.0),
        ("1_000", 2, 0.0), ("\u0663", 2, 0.0), ("0x10", 2, 0.0), ("0.5\0", 2, 0.0), ("true", 2, 0.0),
        ('"0.5"', 2, 0.0),
        ("[0.5]", 2, 0.0), ('{"score": true}', 1, 1.0), ('{"score": false, "a": [1]}', 0, 0.0),
        ('{"score": 3}', 0, 3.0),
    ],
)  # fmt: skip
def test_values(line: str, exit_status: int, value: float) -> None:
    score = read(line, exit_status)
    assert (score.value, score.reason) == (value, "")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("nan", "is no finite number: nan"), ("-Infinity", "is no finite number: -inf"), ("1e999", "finite"),
        ("9" * 400, "finite"), ('{"score": "high"}', "has no number as 'score': \"high\""),
        ('{"score": null}', "has no number as 'score': null"), ('{"Score": 1}', "is a JSON object without 'score'"),
        ("{'score': 0.5}", "begins with { and is not JSON"), ('{"score": NaN}', "is not JSON"),
        ('{"score": 1e400}', "is not JSON"), (f'{{"score": {"9" * 400}}}', "no finite number"),
        ('{"score": 1, "a": "' + "x" * VALUES_KEPT + '"}', "has more than 16 KiB"),
        ('{"score": 1, "a": ' + "[" * DEPTH + "]" * DEPTH + "}", "in each other"),
        ('{"score": 1, "a": ' + "[" * 5000 + "]" * 5000 + "}", "is not JSON"), ('{"score": "\ud800"}', "is not JSON"),
    ],
)  # fmt: skip
def test_a_line_that_is_meant_as_a_score_and_is_none_has_no_value(line: str, reason: str) -> None:
    score = read(line)
    assert score.value is None
    assert reason in score.reason
    assert is_written(score)


@pytest.mark.parametrize(
    ("exit_status", "cut_short", "reason"),
    [
        (-9, "", "killed by signal 9"), (137, "", "killed by signal 9"), (127, "", "exit 127: it could not be"),
        (126, "", "exit 126"), (125, "", "exit 125"), (-15, "timed out after 600 s", "timed out after 600 s"),
        (0, "timed out after 600 s", "timed out after 600 s"),
    ],
)  # fmt: skip
def test_a_command_that_did_not_come_to_its_end_has_no_score(exit_status: int, cut_short: str, reason: str) -> None:
    score = read("0.5", exit_status, cut_short)
    assert score.value is None
    assert score.reason.startswith(reason)
    assert read("", 255).value == read("", 193).value == read("", 124).value == 0.0
