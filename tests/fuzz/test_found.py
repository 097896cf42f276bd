"""Inputs that `make fuzz` has found: each once raised an error, or took for ever."""

from __future__ import annotations

import pytest

from tests.fuzz.feeder import workplace
from tests.fuzz.targets import TARGETS
from wire.manifest import VOCABULARY
from wire.unknown_fields import HINTED

FOUND = (
    ("manifests", b'{"name":"x" ' + b"a" * 200_000 + b"}"),  # took the square of its length: minutes
    ("manifests", b'{"name":"x","exec":"x","y":"\xff"}'),
    ("manifests", b'{"name":"x","exec":1,"exec":"x"}'),
    ("settings", b'{"theme":"\xff"}'),
    ("tool_arguments", b'{"a":' + b"[" * 1000 + b"]" * 1000 + b',"a":1}'),
)


@pytest.mark.parametrize(("name", "data"), FOUND, ids=lambda value: str(value[:30]))
def test_what_was_found_does_no_harm_any_more(name: str, data: bytes) -> None:
    with workplace() as folder, TARGETS[name].open(folder) as take:
        take(data)


def test_of_thousands_of_unknown_fields_only_the_first_get_a_hint() -> None:
    """A hint takes a tenth of a millisecond, and one line names only eight fields."""
    names = [f"descriptio{number}" for number in range(3 * HINTED)]
    found = VOCABULARY.unknown(dict.fromkeys([*names, "onfailure"], "deny"))
    assert [bool(each.meant) for each in found] == [True] * HINTED + [False] * (2 * HINTED) + [True]
    assert found[-1].is_near_miss
