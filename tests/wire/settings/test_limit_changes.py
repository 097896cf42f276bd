"""The words by which a user sets limits, and which limit counts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.manifest import Limits
from wire.settings.limit_changes import (
    DEFAULT,
    LimitChanges,
    LimitError,
    LimitRules,
    check_changes,
    merge_changes,
    parse_changes,
    shown_changes,
    written,
)

NUMBERS = ("rss_mb", "cpu_percent", "cpu_seconds", "processes", "frames_per_s", "log_mb", "file_mb")
VALUES = st.integers(1, 10**6)
CHANGES = st.dictionaries(st.sampled_from(NUMBERS), st.one_of(st.none(), VALUES))
ORDERS = st.dictionaries(st.sampled_from(NUMBERS), st.one_of(st.none(), st.just(DEFAULT), VALUES))
LIMITS = st.dictionaries(st.sampled_from(NUMBERS), VALUES).map(lambda found: Limits(**found))


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ([], {}),
        (["rss_mb=300", "cpu_pct=50"], {"rss_mb": 300, "cpu_percent": 50}),
        (["rss_mb=0.5", "processes=none"], {"rss_mb": 0.5, "processes": None}),
        (["log_mb=default", "action=stop", "breaches=1"], {"log_mb": DEFAULT, "action": "stop", "breaches": 1}),
        (["processes=2.0"], {"processes": 2}),
    ],
)
def test_words_are_limits_and_their_values(words: list[str], changes: dict[str, Any]) -> None:
    assert parse_changes(words) == changes


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["rss_mb=0"], "rss_mb: write a number above 0, or none, not 0"),
        (["rss_mb=-5"], "rss_mb: write a number above 0, or none, not '-5'"),
        (["rss_mb=nan"], "rss_mb: write a number above 0, or none, not 'nan'"),
        (["rss_mb=inf"], "rss_mb: write a number above 0, or none, not 'inf'"),
        (["rss_mb=1e3"], "rss_mb: write a number above 0, or none, not '1e3'"),
        (["rss_mb=300M"], "rss_mb: write a number above 0, or none, not '300M'"),
        (["rss_mb="], "rss_mb: write a number above 0, or none, not ''"),
        (["rss_mb"], "rss_mb: write NAME=VALUE, as in rss_mb=300, or rss_mb=none"),
        (["processes=0.5"], "processes: write a whole number of at least 1, or none, not 0.5"),
        (["open_files=3"], "open_files: write a whole number of at least 8, or none, not 3"),
        (["breaches=101"], "breaches: write a whole number of at least 1 and at most 100, or none, not 101"),
        (["action=kill"], "action: 'kill' is not one of restart, stop"),
        (["action=3"], "action: '3' is not one of restart, stop"),
        (["rss=300"], "no such limit: 'rss'; did you mean 'rss_mb'?"),
        (["--rss_mb=300"], "no such limit: '--rss_mb'; did you mean 'rss_mb'?"),
        (["rss_mb=1", "rss_mb=2"], "rss_mb is there twice, and only one of them could count"),
        (["cpu_pct=1", "cpu_percent=2"], "cpu_percent is there twice, and only one of them could count"),
    ],
)
def test_a_word_without_sense_is_named(words: list[str], fault: str) -> None:
    with pytest.raises(LimitError) as error:
        parse_changes(["file_mb=5", *words])
    assert str(error.value) == fault


def test_only_a_command_may_take_back() -> None:
    assert check_changes({"rss_mb": DEFAULT}, may_reset=True) == {"rss_mb": DEFAULT}
    with pytest.raises(LimitError, match="write a number above 0"):
        check_changes({"rss_mb": DEFAULT})
    with pytest.raises(LimitError, match="write a number above 0, or none, not True"):
        check_changes({"rss_mb": True})


@given(LIMITS, LIMITS, CHANGES, ORDERS)
def test_the_user_counts_more_than_the_manifest_and_a_command_more_than_the_file(
    defaults: Limits, manifest: Limits, kept: LimitChanges, ordered: LimitChanges
) -> None:
    rules = LimitRules(defaults, {"a": kept}).with_order("a", ordered)
    found, origins = rules.of("a", manifest), rules.origins("a", manifest)
    for name in Limits.__struct_fields__:
        own, every = getattr(manifest, name), getattr(defaults, name)
        if name in ordered and ordered[name] != DEFAULT:
            value, origin = ordered[name], "command"
        elif name in kept and name not in ordered:
            value, origin = kept[name], "kept"
        else:
            value, origin = (every, "config") if own is None else (own, "manifest")
        assert getattr(found, name) == value
        assert origins.get(name) == (None if value is None else origin)
    assert rules.of("b", manifest) == manifest.over(defaults)


@given(LIMITS, CHANGES, ORDERS, ORDERS)
def test_a_host_judges_by_kept_limits_as_the_next_one_does(
    manifest: Limits, kept: LimitChanges, ordered: LimitChanges, changes: LimitChanges
) -> None:
    rules = LimitRules(kept={"a": kept})
    now = rules.with_order("a", ordered).with_order("a", changes, is_kept=True)
    following = LimitRules(kept={"a": merge_changes(kept, changes)})
    for name in changes:
        assert getattr(now.of("a", manifest), name) == getattr(following.of("a", manifest), name)
        assert now.origins("a", manifest).get(name) != "command"
    assert rules.with_order("a", changes).of("a", manifest) == following.of("a", manifest)


@given(LIMITS, ORDERS, ORDERS)
def test_two_commands_are_as_one(manifest: Limits, first: LimitChanges, second: LimitChanges) -> None:
    one_by_one = LimitRules().with_order("a", first).with_order("a", second)
    assert one_by_one.of("a", manifest) == LimitRules().with_order("a", {**first, **second}).of("a", manifest)


@given(CHANGES, ORDERS)
def test_what_is_kept_is_valid_and_has_nothing_that_was_taken_back(before: LimitChanges, changes: LimitChanges) -> None:
    kept = {name: written(value) for name, value in merge_changes(before, changes).items()}
    assert check_changes(msgspec.json.decode(msgspec.json.encode(kept))) == kept
    assert not any(changes.get(name) == DEFAULT for name in kept)


def test_people_see_none_and_whole_numbers() -> None:
    assert (
        shown_changes({"rss_mb": 300.0, "processes": None, "log_mb": 0.5}) == "rss_mb 300, processes none, log_mb 0.5"
    )
    assert (written(300.0), written(0.5), written(None), written("stop")) == (300, 0.5, None, "stop")
